-- Show results in Telescope. They stream into its list, and the selection stays on its result.

local action_state = require('telescope.actions.state')
local actions = require('telescope.actions')
local adapters = require('winnow.adapters')
local finders = require('telescope.finders')
local pickers = require('telescope.pickers')
local place = require('winnow.place')
local search = require('winnow.search')
local values = require('telescope.config').values

local M = {}

---Return an entry's text, and its highlights by byte.
---@param listed { value: winnow.Item }
---@return string
---@return table
local function display(listed)
  local text, highlights = '', {}
  for _, chunk in ipairs(adapters.chunks(listed.value)) do
    if chunk[2] then
      highlights[#highlights + 1] = { { #text, #text + #chunk[1] }, chunk[2] }
    end
    text = text .. chunk[1]
  end
  return text, highlights
end

---@param item winnow.Item
local function entry(item)
  local is_virtual = require('winnow.repository').is_virtual(item.file)
  return {
    value = item,
    ordinal = adapters.line(item),
    display = display,
    filename = item.file,
    -- The previewer reads files itself, but can show a buffer with a text from the server.
    bufnr = is_virtual and vim.fn.bufadd(item.file) or nil,
    lnum = item.lnum,
    col = place.list_column(item),
  }
end

---@param items winnow.Item[]
local function finder(items)
  return finders.new_table({ results = items, entry_maker = entry })
end

---@param running winnow.Search
---@param how? 'split'|'vsplit'|'tab'
local function opener(running, how)
  return function(buf)
    local selected = action_state.get_selected_entry()
    place.leave_insert(function()
      actions.close(buf)
      if selected then
        adapters.show(running, selected.value, how)
      end
    end)
  end
end

---Return the selected items, or all that match the filter if none is selected.
local function selected_items(buf)
  local picker = action_state.get_current_picker(buf)
  local entries = picker:get_multi_selection()
  if #entries == 0 then
    entries = {}
    for listed in picker.manager:iter() do
      entries[#entries + 1] = listed
    end
  end
  return vim.tbl_map(function(selected)
    return selected.value
  end, entries)
end

---@param running winnow.Search
local function sender(running)
  return function(buf)
    local items = selected_items(buf)
    place.leave_insert(function()
      actions.close(buf)
      adapters.send(running, items, 'quickfix')
    end)
  end
end

---@param mode winnow.Mode
---@param request winnow.Request
---@param options? table options of Telescope
function M.open(mode, request, options)
  options = options or {}
  local picker ---@type table?
  local closed = false
  ---@param current winnow.Search
  local function update(current)
    if picker and not closed then
      picker:refresh(finder(current.items), { reset_prompt = false })
    end
    local border = picker and picker.layout.prompt.border
    if border and not closed and not current.busy then
      border:change_title(adapters.title(current))
    end
  end
  local running = search.start(mode, request, { on_update = update })
  picker = pickers.new(options, {
    prompt_title = require('winnow.modes').get(mode).title,
    results_title = require('winnow.query').format(request),
    finder = finder(running.items),
    previewer = values.grep_previewer(options),
    sorter = values.generic_sorter(options),
    selection_strategy = 'follow',
    attach_mappings = function(buf, map)
      actions.select_default:replace(opener(running))
      actions.select_horizontal:replace(opener(running, 'split'))
      actions.select_vertical:replace(opener(running, 'vsplit'))
      actions.select_tab:replace(opener(running, 'tab'))
      map({ 'i', 'n' }, '<C-q>', sender(running))
      vim.api.nvim_create_autocmd('BufWipeout', {
        buffer = buf,
        once = true,
        callback = function()
          closed = true
          running:cancel()
        end,
      })
      return true
    end,
  })
  picker:find()
end

return M
