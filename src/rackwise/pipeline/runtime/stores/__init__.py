"""Object stores and HDFS: files that tasks open, and folders of tables there."""
