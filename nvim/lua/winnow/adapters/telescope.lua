-- Results in Telescope. They stream into its list; what is selected stays selected.

local action_state = require('telescope.actions.state')
local actions = require('telescope.actions')
local adapters = require('winnow.adapters')
local finders = require('telescope.finders')
local pickers = require('telescope.pickers')
local place = require('winnow.place')
local search = require('winnow.search')
local values = require('telescope.config').values

local M = {}

---@param item winnow.Item
local function entry(item)
  local is_document = vim.startswith(item.file, 'winnow-doc://')
  return {
    value = item,
    ordinal = adapters.line(item),
    display = adapters.line(item),
    filename = item.file,
    -- Its previewer reads files itself, but shows buffers that are there.
    bufnr = is_document and vim.fn.bufadd(item.file) or nil,
    lnum = item.lnum,
    col = place.list_column(item),
  }
end

---@param items winnow.Item[]
local function finder(items)
  return finders.new_table({ results = items, entry_maker = entry })
end

---@param found winnow.Search
---@param how? 'split'|'vsplit'|'tab'
local function opener(found, how)
  return function(buf)
    local chosen = action_state.get_selected_entry()
    place.leave_insert(function()
      actions.close(buf)
      if chosen then
        adapters.show(found, chosen.value, how)
      end
    end)
  end
end

---The results that are selected, else all that pass the filter.
local function chosen_items(buf)
  local picker = action_state.get_current_picker(buf)
  local entries = picker:get_multi_selection()
  if #entries == 0 then
    entries = {}
    for one in picker.manager:iter() do
      entries[#entries + 1] = one
    end
  end
  return vim.tbl_map(function(one)
    return one.value
  end, entries)
end

---@param found winnow.Search
local function sender(found)
  return function(buf)
    local items = chosen_items(buf)
    place.leave_insert(function()
      actions.close(buf)
      adapters.send(found, items, 'quickfix')
    end)
  end
end

---@param mode winnow.Mode
---@param request winnow.Request
---@param options? table Telescope's
function M.open(mode, request, options)
  options = options or {}
  local picker ---@type table?
  local closed = false
  ---@param so_far winnow.Search
  local function update(so_far)
    if picker and not closed then
      picker:refresh(finder(so_far.items), { reset_prompt = false })
    end
    if not so_far.busy then
      require('winnow.answer').report(so_far)
    end
  end
  local found = search.start(mode, request, { told = update })
  picker = pickers.new(options, {
    prompt_title = require('winnow.modes').get(mode).title,
    results_title = require('winnow.query').format(request),
    finder = finder(found.items),
    previewer = values.grep_previewer(options),
    sorter = values.generic_sorter(options),
    selection_strategy = 'follow',
    attach_mappings = function(buf, map)
      actions.select_default:replace(opener(found))
      actions.select_horizontal:replace(opener(found, 'split'))
      actions.select_vertical:replace(opener(found, 'vsplit'))
      actions.select_tab:replace(opener(found, 'tab'))
      map({ 'i', 'n' }, '<C-q>', sender(found))
      vim.api.nvim_create_autocmd('BufWipeout', {
        buffer = buf,
        once = true,
        callback = function()
          closed = true
          found:cancel()
        end,
      })
      return true
    end,
  })
  picker:find()
end

return M
