"""The ReBIND scheme: relapses, their risk, depth and costs."""
