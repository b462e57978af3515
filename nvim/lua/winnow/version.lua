-- That of the server it comes with; scripts/build holds them together.
return '0.1.0'
