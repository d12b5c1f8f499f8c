"""Why a plan moves a partition or leaves it, and what another choice would cost."""
