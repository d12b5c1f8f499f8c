"""A plan for every cluster of a fleet, created in Spark tasks."""

from rackwise.pipeline.plans.fleet_plans import Plans, plan_clusters, rounds

__all__ = ["Plans", "plan_clusters", "rounds"]
