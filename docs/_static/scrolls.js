// Code, tables and formulas that are wider than the page: shaded where they go on, and reached by the keyboard.
addEventListener("load", () => {
  for (const box of document.querySelectorAll("article pre, article .table-wrapper, article div.math")) {
    const look = () => {
      const room = box.scrollWidth - box.clientWidth;
      box.classList.toggle("more-left", box.scrollLeft > 1);
      box.classList.toggle("more-right", box.scrollLeft < room - 1);
      if (room > 1) box.tabIndex = 0;
      else box.removeAttribute("tabindex");
    };
    box.addEventListener("scroll", look, { passive: true });
    const observer = new ResizeObserver(look);
    [box, ...box.children].forEach((element) => observer.observe(element));
  }
});
