from registry import register_plugin

register_plugin("upper", str.upper)
