"""Many repairs: independent jobs in their own copies of the projects, on local processes or a Dask cluster.

`running` is the batch, `job_process` the inside of one job, `merging` puts the reports of several batches together,
`applying` writes a combined patch into the user's project.
"""

from __future__ import annotations
