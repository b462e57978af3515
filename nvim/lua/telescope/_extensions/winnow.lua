-- The Telescope extension: `:Telescope winnow keyword query=…` or
-- `require("telescope").extensions.winnow.keyword({ query = … })`.

local telescope = require('telescope')

---@param mode winnow.Mode
local function opener(mode)
  return function(options)
    options = options or {}
    local adapters = require('winnow.adapters')
    ---@type winnow.Request
    local request = { query = options.query, terms = options.terms, params = options.params }
    if type(options.query) == 'string' then
      local parsed = require('winnow.query').parse(mode, options.query)
      request.query, request.terms = parsed.query, options.terms or parsed.terms
      request.params = vim.tbl_extend('force', parsed.params, options.params or {})
    end
    adapters.with_query(mode, request, function(complete)
      require('winnow.history').add(mode, complete)
      require('winnow.picker.windows').define_highlights()
      require('winnow.adapters.telescope').open(mode, complete, options)
    end)
  end
end

local exports = { winnow = opener('keyword') }
for _, mode in ipairs(require('winnow.modes').names) do
  exports[mode] = opener(mode)
end

return telescope.register_extension({
  exports = exports,
  health = function()
    require('winnow.health').check()
  end,
})
