-- Show results in pickers of other plugins. Each adapter is loaded on first use.

local M = {}

local PLUGINS = { telescope = 'telescope', fzf_lua = 'fzf-lua', snacks = 'snacks' }

---Return whether each picker is installed, without loading any.
---@return table<string, boolean>
function M.installed()
  local installed = {}
  for name, module in pairs(PLUGINS) do
    local path = 'lua/' .. module
    local files = { path .. '.lua', path .. '/init.lua' }
    installed[name] = vim.iter(files):any(function(file)
      return #vim.api.nvim_get_runtime_file(file, false) > 0
    end)
  end
  return installed
end

---Call back with a request that has a query. Prompt for the query if it is missing.
---@param mode winnow.Mode
---@param request winnow.Request
---@param callback fun(request: winnow.Request)
function M.with_query(mode, request, callback)
  if vim.trim(request.query or '') ~= '' then
    return callback(request)
  end
  local title = require('winnow.modes').get(mode).title
  vim.ui.input({ prompt = ('Winnow, %s: '):format(title) }, function(typed)
    if typed and vim.trim(typed) ~= '' then
      local parsed = require('winnow.query').parse(mode, typed)
      parsed.params = vim.tbl_extend('force', request.params or {}, parsed.params)
      callback(parsed)
    end
  end)
end

---Return an item as pieces of text with highlight groups: the file's name, the reason, the line and
---the folder. Other pickers cut the end of long rows, so what tells most comes first.
---@param item winnow.Item
---@return winnow.Chunk[]
function M.chunks(item)
  local folder, name = require('winnow.place').split(item)
  ---@type winnow.Chunk[]
  local chunks = {
    { name, 'WinnowName' },
    { item.is_file and '' or (':%d'):format(item.lnum), 'WinnowLine' },
    { item.place and (' (%s)'):format(item.place) or '', 'WinnowPlace' },
  }
  for _, part in ipairs({
    { item.reason, 'WinnowReason' },
    { vim.trim(item.text), 'WinnowText' },
    { folder, 'WinnowPath' },
  }) do
    if part[1] ~= '' then
      chunks[#chunks + 1] = { '  ' }
      chunks[#chunks + 1] = { (part[1]:gsub('%c', ' ')), part[2] }
    end
  end
  return chunks
end

---Return an item as one line of text.
---@param item winnow.Item
---@return string
function M.line(item)
  return table.concat(vim.tbl_map(function(chunk)
    return chunk[1]
  end, M.chunks(item)))
end

---Return a title with the summary of a finished search. The pickers' insert mode covers messages.
---@param search winnow.Search
---@return string
function M.title(search)
  local title = require('winnow.modes').get(search.mode).title
  return ('%s: %s'):format(title, (search:summary():gsub('%s+', ' ')))
end

---Open an item and report it to the server.
---@param search winnow.Search
---@param item winnow.Item
---@param how? 'split'|'vsplit'|'tab'
function M.show(search, item, how)
  search:opened(item)
  require('winnow.place').open(item, how)
end

---Write items to a list and open its window.
---@param search winnow.Search
---@param items winnow.Item[]
---@param kind winnow.ListKind
function M.send(search, items, kind)
  local list = require('winnow.lists').new(kind)
  list:write(search, items)
  list:show()
end

---@param name 'telescope'|'fzf_lua'|'snacks'
---@param mode winnow.Mode
---@param request winnow.Request
function M.open(name, mode, request)
  if not M.installed()[name] then
    error(('winnow: picker `%s` is not installed'):format(name), 0)
  end
  M.with_query(mode, request, function(complete)
    require('winnow.history').add(mode, complete)
    require('winnow.picker.windows').define_highlights()
    require('winnow.adapters.' .. name).open(mode, complete)
  end)
end

return M
