-- The version of the plugin and its server; scripts/build keeps them equal.
return '0.1.0'
