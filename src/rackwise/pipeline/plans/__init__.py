"""A plan for every cluster of a fleet, made in Spark tasks."""

from rackwise.pipeline.plans.plans import Plans, plans, rounds

__all__ = ["Plans", "plans", "rounds"]
