"""`rackwise racks`: tables of addresses and subnets from Kubernetes and clouds."""
