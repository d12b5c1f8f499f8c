"""What runs the tasks of a job: Spark, or this process alone."""
