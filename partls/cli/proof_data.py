"""What a certificate says of the table behind it, so that it is verified with the table alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Self

from formulations.errors import InvalidInput, listing
from formulations.partition import Partition
from partls.cli import data_options as source
from partls.cli.data_options import GroupedData, read
from partls.cli.grouping import GroupsFile
from partls.cli.preparation import Preparation
from partls.cli.preparation_file import as_document, from_document, names, text
from partls.cli.tables import Table


@dataclass(frozen=True, kw_only=True)
class GivenColumns:
    """What is said of DATA beside a proof: nothing if partls fit wrote it, all of it if it was written in Python."""

    target: Annotated[str | None, source.TARGET] = None
    groups: Annotated[Path | None, source.GROUPS] = None
    weights: source.Weights = None
    drop: source.Drop = None
    encode: source.Encode = None
    missing: Annotated[str | None, source.MISSING_OPTION] = None
    standardize: source.Standardize = False
    ungrouped: source.Ungrouped = "error"

    def complete(self, proof: Path) -> source.Columns:
        """Return what makes a problem of a table, where the proof itself does not say it."""
        lacks = [option for option, value in (("--target", self.target), ("--groups", self.groups)) if value is None]
        if self.target is None or self.groups is None:
            raise InvalidInput(f"{proof} does not say how the table was prepared: give {' and '.join(lacks)}")
        return source.Columns(
            target=self.target, groups=self.groups, weights=self.weights, drop=self.drop, encode=self.encode,
            missing=self.missing or "error", standardize=self.standardize, ungrouped=self.ungrouped,
        )


@dataclass(frozen=True)
class ProofData:
    """How a table becomes the problem of a proof.

    Attributes
    ----------
    preparation, standardized
        How columns become numbers.
    groups
        The columns of each group, after encoding; columns in no group have free signs.
    """

    preparation: Preparation
    standardized: bool
    groups: Mapping[str, Sequence[str]]

    @classmethod
    def of(cls, problem: GroupedData) -> Self:
        """Return what the proof of a fit is to say."""
        return cls(problem.preparation, problem.rows.scale is not None, problem.partition.to_dict())

    @classmethod
    def read(cls, written: Any, path: Any) -> Self:
        """Return what a certificate says, checked."""
        try:
            preparation, standardized = from_document(written)
            groups = {text(name): names(members) for name, members in written["groups"].items()}
        except (TypeError, ValueError, KeyError, AttributeError):
            raise InvalidInput(f'{path}: "preparation" is not as partls fit writes it') from None
        return cls(preparation, standardized, groups)

    def document(self) -> dict[str, Any]:
        """Return it as JSON has it."""
        groups = {name: list(members) for name, members in self.groups.items()}
        return {**as_document(self.preparation, standardized=self.standardized), "groups": groups}

    def problem(self, table: Table, *, memory: float) -> GroupedData:
        """Return the problem that the table holds."""
        preparation = self.preparation
        wanted = [*filter(None, (preparation.target, preparation.weights)), *preparation.features]
        table.require(wanted, "the proof")
        partition = Partition.of(
            {name: list(members) for name, members in self.groups.items()}, n_columns=len(preparation.columns),
            columns=preparation.columns, ungrouped="free",
        )
        rows = read(table, preparation, memory=memory, standardize=self.standardized, kept_for="partls verify")
        return GroupedData(preparation, partition, rows)

    def check(self, given: GivenColumns, table: Table) -> None:
        """Refuse options that disagree with the proof, by name."""
        own = self.preparation
        for option, value, stated in (
            ("--target", given.target, own.target), ("--weights", given.weights, own.weights),
            ("--missing", given.missing, own.missing),
        ):
            if value is not None and value != stated:
                told = "has none" if stated is None else f'has "{stated}"'
                raise InvalidInput(f'{option} "{value}": the proof {told}; leave the option out, or give what it has')
        if used := [name for name in given.drop or () if name in (*own.features, own.target, own.weights)]:
            raise InvalidInput(f"--drop {listing(used)}: the proof uses it; leave the option out")
        if given.standardize and not self.standardized:
            raise InvalidInput("--standardize: the proof is about the columns as they are; leave the option out")
        if given.groups is not None:
            self._check_groups(given, table)

    def _check_groups(self, given: GivenColumns, table: Table) -> None:
        """Refuse a groups file whose groups are not those of the proof."""
        assert given.groups is not None
        used = {*self.preparation.features, self.preparation.target, self.preparation.weights}
        dropped = [name for name in table.columns if name not in used]
        found = GroupsFile.read(given.groups).partition(self.preparation, dropped=dropped, ungrouped="free").to_dict()
        odd = [name for name in {**self.groups, **found} if set(found.get(name, ())) != set(self.groups.get(name, ()))]
        if odd:
            raise InvalidInput(f"--groups {given.groups}: other columns in {listing(odd)} than the proof has")

    def __str__(self) -> str:
        """Say in words what the proof has used."""
        own = self.preparation
        groups = "; ".join(f"{name} = {listing(members, limit=8)}" for name, members in self.groups.items())
        parts = [f'target "{own.target}"', *([f'weights "{own.weights}"'] if own.weights else [])]
        if own.levels:
            parts.append(f"one-hot codes for {listing(list(own.levels))}")
        parts += [f"missing values: {own.missing}"] * (own.missing != "error")
        parts += ["standardised columns"] * self.standardized
        return f"{', '.join(parts)}; groups: {groups}"

