"""Problems to solve: each module has ``make(seed, **settings) -> Problem``."""
