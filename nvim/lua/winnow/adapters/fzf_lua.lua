-- Show results in fzf-lua. fzf can only add lines, so a ranking, whose order may change, appears
-- when it is complete. Other results appear as they arrive.

local adapters = require('winnow.adapters')
local builtin = require('fzf-lua.previewer.builtin')
local fzf = require('fzf-lua')
local modes = require('winnow.modes')
local search = require('winnow.search')
local utils = require('fzf-lua.utils')

local M = {}

-- Separates the item's number, which fzf does not show, from the line.
local SEPARATOR = '\t'

---@param items winnow.Item[]
---@param line string
---@return winnow.Item?
local function item_of(items, line)
  local number = tonumber(line:match('^%s*(%d+)'))
  return number and items[number]
end

---Return an item as one line with the colors of a terminal.
---@param item winnow.Item
---@return string
local function colored(item)
  return table.concat(vim.tbl_map(function(chunk)
    return chunk[2] and utils.ansi_from_hl(chunk[2], chunk[1]) or chunk[1]
  end, adapters.chunks(item)))
end

---@param items fun(): winnow.Item[]
local function previewer(items)
  local Previewer = builtin.buffer_or_file:extend()

  function Previewer:new(o, opts, win)
    Previewer.super.new(self, o, opts, win)
    setmetatable(self, Previewer)
    return self
  end

  function Previewer.parse_entry(_, line)
    local item = item_of(items(), line)
    if not item then
      return {}
    end
    local column = require('winnow.place').list_column(item)
    local entry = { path = item.file, line = item.lnum, col = math.max(column, 1) }
    if require('winnow.repository').is_virtual(item.file) then
      entry.bufnr = vim.fn.bufadd(item.file)
      vim.fn.bufload(entry.bufnr)
    end
    return entry
  end

  return Previewer
end

---@param mode winnow.Mode
---@param request winnow.Request
---@param options? table options of fzf-lua
function M.open(mode, request, options)
  local add_line ---@type fun(line?: string)?
  local written = 0
  -- Items keep the number they were written with, even if the order changes later.
  local items = {} ---@type winnow.Item[]

  ---@param current winnow.Search
  ---@param add fun(line?: string)
  local function write(current, add)
    for number = written + 1, #current.items do
      items[number] = current.items[number]
      add(('%d%s%s'):format(number, SEPARATOR, colored(items[number])))
    end
    written = math.max(written, #current.items)
  end

  local finished = false
  ---@param current winnow.Search
  local function update(current)
    if add_line and (not current.ranked or not current.busy) then
      write(current, add_line)
      if not current.busy and not finished then
        finished = true
        add_line(nil)
        require('winnow.answer').report(current)
      end
    end
  end
  local running = search.start(mode, request, { on_update = update })

  local function items_of(lines)
    return vim.tbl_map(function(line)
      return item_of(items, line)
    end, lines)
  end
  local function opener(how)
    return function(lines)
      for _, item in ipairs(items_of(lines)) do
        adapters.show(running, item, how)
      end
    end
  end
  local function sender(kind)
    return function(lines)
      adapters.send(running, items_of(lines), kind)
    end
  end

  fzf.fzf_exec(
    function(add)
      add_line = add
      update(running)
    end,
    vim.tbl_deep_extend('force', {
      prompt = modes.get(mode).title .. '> ',
      previewer = {
        _ctor = function()
          return previewer(function()
            return items
          end)
        end,
      },
      actions = {
        ['enter'] = opener(),
        ['ctrl-s'] = opener('split'),
        ['ctrl-v'] = opener('vsplit'),
        ['ctrl-t'] = opener('tab'),
        ['alt-q'] = sender('quickfix'),
        ['alt-Q'] = sender('loclist'),
      },
      fzf_opts = {
        ['--ansi'] = true,
        ['--multi'] = true,
        ['--delimiter'] = SEPARATOR,
        ['--with-nth'] = '2..',
        -- Keep the order of the ranking.
        ['--no-sort'] = true,
      },
      winopts = {
        on_close = function()
          running:cancel()
        end,
      },
    }, options or {})
  )
end

return M
