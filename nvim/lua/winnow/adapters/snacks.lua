-- Show results in snacks.picker. It can only add items, so a ranking, whose order may change,
-- appears when it is complete. Other results appear as they arrive.

local adapters = require('winnow.adapters')
local modes = require('winnow.modes')
local place = require('winnow.place')
local search = require('winnow.search')

local M = {}

---@param item winnow.Item
local function entry(item)
  return {
    text = adapters.line(item),
    file = item.file,
    buf = require('winnow.repository').is_virtual(item.file) and vim.fn.bufadd(item.file) or nil,
    pos = { item.lnum, math.max(place.list_column(item) - 1, 0) },
    winnow = item,
  }
end

---@param snacks_item { winnow: winnow.Item }
local function format(snacks_item)
  return adapters.chunks(snacks_item.winnow)
end

---Return a finder that passes the items of a search to snacks as they arrive.
---@param mode winnow.Mode
---@param request winnow.Request
---@param on_start fun(started: winnow.Search)
local function finder(mode, request, on_start)
  return function(_, context)
    return function(add)
      local async = require('snacks.picker.util.async').running()
      local running ---@type winnow.Search?
      async:on(
        'abort',
        vim.schedule_wrap(function()
          if running then
            running:cancel()
          end
        end)
      )
      vim.schedule(function()
        running = search.start(mode, request, {
          on_update = function(current)
            running = running or current
            async:resume()
            if not current.busy then
              context.picker.title = adapters.title(current)
              context.picker:update_titles()
            end
          end,
        })
        on_start(running)
      end)
      local count, entries = 0, {}
      while not running or running.busy or count < #running.items do
        local item = running and running.items[count + 1]
        if running and item and (not running.busy or not running.ranked) then
          count = count + 1
          entries[count] = entry(item)
          add(entries[count])
        else
          async:suspend()
        end
      end
    end
  end
end

---@param mode winnow.Mode
---@param request winnow.Request
---@param options? table options of snacks
function M.open(mode, request, options)
  local running ---@type winnow.Search?
  local function sender(kind)
    return function(picker)
      if not running then
        return
      end
      local items = vim.tbl_map(function(snacks_item)
        return snacks_item.winnow
      end, #picker:selected() > 0 and picker:selected() or picker:items())
      picker:close()
      adapters.send(running, items, kind)
    end
  end
  require('snacks').picker.pick(vim.tbl_deep_extend('force', {
    source = 'winnow_' .. mode,
    title = modes.get(mode).title,
    finder = finder(mode, request, function(started)
      running = started
    end),
    format = format,
    preview = 'file',
    sort = { fields = { 'idx' } },
    confirm = function(picker, snacks_item, action)
      if not running or not snacks_item then
        return
      end
      local how = ({ split = 'split', vsplit = 'vsplit', tab = 'tab' })[action and action.cmd]
      place.leave_insert(function()
        picker:close()
        adapters.show(running, snacks_item.winnow, how)
      end)
    end,
    actions = { qflist = sender('quickfix'), loclist = sender('loclist') },
  }, options or {}))
end

return M
