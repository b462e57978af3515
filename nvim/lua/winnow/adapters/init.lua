-- Pickers of other plugins, over the same items. Each is loaded when it is asked for.

local M = {}

local PLUGINS = { telescope = 'telescope', fzf_lua = 'fzf-lua', snacks = 'snacks' }

---Which of them are installed; none is loaded to find out.
---@return table<string, boolean>
function M.found()
  local found = {}
  for name, module in pairs(PLUGINS) do
    local path = 'lua/' .. module
    local files = { path .. '.lua', path .. '/init.lua' }
    found[name] = vim.iter(files):any(function(file)
      return #vim.api.nvim_get_runtime_file(file, false) > 0
    end)
  end
  return found
end

---Call back with a request that has a query: the one that is given, or what somebody types.
---@param mode winnow.Mode
---@param request winnow.Request
---@param go_on fun(request: winnow.Request)
function M.with_query(mode, request, go_on)
  if vim.trim(request.query or '') ~= '' then
    return go_on(request)
  end
  local title = require('winnow.modes').get(mode).title
  vim.ui.input({ prompt = ('Winnow, %s: '):format(title) }, function(typed)
    if typed and vim.trim(typed) ~= '' then
      local asked = require('winnow.query').parse(mode, typed)
      asked.params = vim.tbl_extend('force', request.params or {}, asked.params)
      go_on(asked)
    end
  end)
end

---One line for an item.
---@param item winnow.Item
---@return string
function M.line(item)
  local place = item.place and (' (%s)'):format(item.place) or ''
  local said = vim.tbl_filter(function(part)
    return part ~= ''
  end, { vim.trim(item.text), item.reason })
  local line = ('%s:%d%s: %s'):format(item.path, item.lnum, place, table.concat(said, ' │ '))
  return (line:gsub('[%c]', ' '))
end

---Tell the server, and show the item.
---@param found winnow.Search
---@param item winnow.Item
---@param how? 'split'|'vsplit'|'tab'
function M.show(found, item, how)
  found:opened(item)
  require('winnow.place').open(item, how)
end

---Write items to a list, and open its window.
---@param found winnow.Search
---@param items winnow.Item[]
---@param kind winnow.ListKind
function M.send(found, items, kind)
  local list = require('winnow.lists').new(kind)
  list:write(found, items)
  list:show()
end

---@param name 'telescope'|'fzf_lua'|'snacks'
---@param mode winnow.Mode
---@param request winnow.Request
function M.open(name, mode, request)
  if not M.found()[name] then
    error(('winnow: picker `%s` is not installed'):format(name), 0)
  end
  M.with_query(mode, request, function(asked)
    require('winnow.history').add(mode, asked)
    require('winnow.adapters.' .. name).open(mode, asked)
  end)
end

return M
