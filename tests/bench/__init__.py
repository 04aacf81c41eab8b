"""The measurements still measure."""
