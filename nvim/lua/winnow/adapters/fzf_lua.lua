-- Results in fzf-lua. fzf only adds lines: a ranking, whose order may change, is shown when it is
-- there as a whole; other results as they come.

local adapters = require('winnow.adapters')
local builtin = require('fzf-lua.previewer.builtin')
local fzf = require('fzf-lua')
local modes = require('winnow.modes')
local search = require('winnow.search')

local M = {}

-- Before each line stands the number of its item, which fzf does not show.
local SEPARATOR = '\t'

---@param items winnow.Item[]
---@param line string
---@return winnow.Item?
local function item_of(items, line)
  local number = tonumber(line:match('^%s*(%d+)'))
  return number and items[number]
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
    if vim.startswith(item.file, 'winnow-doc://') then
      entry.bufnr = vim.fn.bufadd(item.file)
      vim.fn.bufload(entry.bufnr)
    end
    return entry
  end

  return Previewer
end

---@param mode winnow.Mode
---@param request winnow.Request
---@param options? table fzf-lua's
function M.open(mode, request, options)
  local told ---@type fun(line?: string)?
  local written = 0
  -- What is written keeps its number, whatever order comes later.
  local items = {} ---@type winnow.Item[]

  ---@param found winnow.Search
  ---@param line fun(line?: string)
  local function write(found, line)
    for nth = written + 1, #found.items do
      items[nth] = found.items[nth]
      line(('%d%s%s'):format(nth, SEPARATOR, adapters.line(items[nth])))
    end
    written = math.max(written, #found.items)
  end

  local ended = false
  ---@param so_far winnow.Search
  local function update(so_far)
    if told and (not modes.get(mode).ranked or not so_far.busy) then
      write(so_far, told)
      if not so_far.busy and not ended then
        ended = true
        told(nil)
        require('winnow.answer').report(so_far)
      end
    end
  end
  local found = search.start(mode, request, { told = update })

  local function chosen(lines)
    return vim.tbl_map(function(line)
      return item_of(items, line)
    end, lines)
  end
  local function opener(how)
    return function(lines)
      for _, item in ipairs(chosen(lines)) do
        adapters.show(found, item, how)
      end
    end
  end
  local function sender(kind)
    return function(lines)
      adapters.send(found, chosen(lines), kind)
    end
  end

  fzf.fzf_exec(
    function(line)
      told = line
      update(found)
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
        ['--multi'] = true,
        ['--delimiter'] = SEPARATOR,
        ['--with-nth'] = '2..',
        -- The order is the ranking's.
        ['--no-sort'] = true,
      },
      winopts = {
        on_close = function()
          found:cancel()
        end,
      },
    }, options or {})
  )
end

return M
