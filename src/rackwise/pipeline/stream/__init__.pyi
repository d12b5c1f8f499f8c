from rackwise.pipeline.stream.run import StreamOptions as StreamOptions
from rackwise.pipeline.stream.run import finish as finish
from rackwise.pipeline.stream.run import start as start
from rackwise.pipeline.stream.run import usable_conf as usable_conf
