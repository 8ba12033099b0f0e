"""What every folder uses: validation, atomic writes, threads, array types, run control, storage, compilation."""
