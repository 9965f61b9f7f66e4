"""Long work: run folders, grids of runs, progress."""
