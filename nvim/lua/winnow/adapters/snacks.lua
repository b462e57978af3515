-- Results in snacks.picker. It only adds items: a ranking, whose order may change, is shown when it
-- is there as a whole; other results as they come.

local adapters = require('winnow.adapters')
local modes = require('winnow.modes')
local place = require('winnow.place')
local search = require('winnow.search')

local M = {}

---@param item winnow.Item
local function snack(item)
  return {
    text = adapters.line(item),
    file = item.file,
    buf = vim.startswith(item.file, 'winnow-doc://') and vim.fn.bufadd(item.file) or nil,
    pos = { item.lnum, math.max(place.list_column(item) - 1, 0) },
    winnow = item,
  }
end

---@param item { winnow: winnow.Item }
local function format(item)
  local one = item.winnow
  local where = one.place and ('%d (%s)'):format(one.lnum, one.place) or tostring(one.lnum)
  local text = vim.trim(one.text):gsub('%c', ' ')
  return {
    { one.path, 'SnacksPickerFile' },
    { ':' .. where .. ' ', 'SnacksPickerRow' },
    { text },
    { one.reason ~= '' and '  ' .. one.reason or '', 'SnacksPickerComment' },
  }
end

---Gives snacks the items of a search while they come.
---@param mode winnow.Mode
---@param request winnow.Request
---@param started fun(found: winnow.Search)
local function finder(mode, request, started)
  return function()
    return function(give)
      local async = require('snacks.picker.util.async').running()
      local found ---@type winnow.Search?
      async:on(
        'abort',
        vim.schedule_wrap(function()
          if found then
            found:cancel()
          end
        end)
      )
      vim.schedule(function()
        found = search.start(mode, request, {
          told = function(so_far)
            found = found or so_far
            async:resume()
            if not so_far.busy then
              require('winnow.answer').report(so_far)
            end
          end,
        })
        started(found)
      end)
      local given, snacks = 0, {}
      while not found or found.busy or given < #found.items do
        local item = found and found.items[given + 1]
        if found and item and (not found.busy or not modes.get(mode).ranked) then
          given = given + 1
          snacks[given] = snack(item)
          give(snacks[given])
        else
          async:suspend()
        end
      end
    end
  end
end

---@param mode winnow.Mode
---@param request winnow.Request
---@param options? table snacks'
function M.open(mode, request, options)
  local found ---@type winnow.Search?
  local function sender(kind)
    return function(picker)
      if not found then
        return
      end
      local items = vim.tbl_map(function(one)
        return one.winnow
      end, #picker:selected() > 0 and picker:selected() or picker:items())
      picker:close()
      adapters.send(found, items, kind)
    end
  end
  require('snacks').picker.pick(vim.tbl_deep_extend('force', {
    source = 'winnow_' .. mode,
    title = modes.get(mode).title,
    finder = finder(mode, request, function(new)
      found = new
    end),
    format = format,
    preview = 'file',
    sort = { fields = { 'idx' } },
    confirm = function(picker, item, action)
      if not found or not item then
        return
      end
      local how = ({ split = 'split', vsplit = 'vsplit', tab = 'tab' })[action and action.cmd]
      place.leave_insert(function()
        picker:close()
        adapters.show(found, item.winnow, how)
      end)
    end,
    actions = { qflist = sender('quickfix'), loclist = sender('loclist') },
  }, options or {}))
end

return M
