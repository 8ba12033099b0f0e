"""What every folder uses: checks, files, threads, array types, the clock of a fit."""
