return {
  found = function()
    return {}
  end,
  open = function()
    error('x')
  end,
}
