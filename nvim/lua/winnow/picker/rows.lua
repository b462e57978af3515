-- The list of the picker as text: a line or two for each item, and what is highlighted in them.

local M = {}

local NAMESPACE = vim.api.nvim_create_namespace('winnow-list')
local CURRENT = vim.api.nvim_create_namespace('winnow-current')
local MARK = '●'
-- Text of a minified file need not be built up to its end.
local TEXT_BYTES = 400

---@param text string
---@return string
local function short(text)
  text = vim.trim(text):gsub('[%c]', ' ')
  return #text > TEXT_BYTES and vim.fn.strcharpart(text, 0, TEXT_BYTES) or text
end

---What a filter looks at, and what stands in the first line: `path:line: text`.
---@param item winnow.Item
---@return string line
---@return integer path bytes of the path
---@return integer number bytes up to the end of the line's number
---@return integer place bytes up to the end of the place in a document
local function first_line(item)
  local number = ('%s:%d'):format(item.path, item.lnum)
  local place = item.place and ('%s (%s)'):format(number, item.place) or number
  local text = short(item.text)
  return text == '' and place or ('%s: %s'):format(place, text), #item.path, #number, #place
end

---@param item winnow.Item
---@return string
function M.filter_text(item)
  return (first_line(item)) .. ' ' .. short(item.reason)
end

---Write items into a buffer.
---@param buf integer
---@param items winnow.Item[]
---@param options { reasons: boolean, selected: table<string, boolean>,
---  positions: table<integer, integer[]> } `positions` are those of a filter's letters, by item
---@return integer per_item how many lines each item has
function M.write(buf, items, options)
  local lines, marks = {}, {}
  local per_item = options.reasons and 2 or 1
  local function mark(row, first, last, group)
    marks[#marks + 1] = { row, first, last, group }
  end
  for place, item in ipairs(items) do
    local row = #lines
    local chosen = options.selected[item.key]
    local indent = chosen and MARK .. ' ' or '  '
    local text, path, number, place_end = first_line(item)
    lines[#lines + 1] = indent .. text
    mark(row, #indent, #indent + path, 'WinnowPath')
    mark(row, #indent + path, #indent + number, 'WinnowLine')
    mark(row, #indent + number, #indent + place_end, 'WinnowPlace')
    if chosen then
      mark(row, 0, #MARK, 'WinnowSelected')
    end
    local reason = short(item.reason)
    if options.reasons then
      lines[#lines + 1] = '    ' .. reason
      mark(row + 1, 0, #lines[#lines], 'WinnowReason')
    end
    for _, at in ipairs(options.positions[place] or {}) do
      if at < #text then
        mark(row, #indent + at, #indent + at + 1, 'WinnowFilter')
      elseif options.reasons and at > #text then
        mark(row + 1, at - #text + 3, at - #text + 4, 'WinnowFilter')
      end
    end
  end
  vim.api.nvim_buf_set_lines(buf, 0, -1, false, lines)
  vim.api.nvim_buf_clear_namespace(buf, NAMESPACE, 0, -1)
  for _, one in ipairs(marks) do
    vim.api.nvim_buf_set_extmark(buf, NAMESPACE, one[1], one[2], {
      end_col = one[3],
      hl_group = one[4],
    })
  end
  return per_item
end

---Show which item is the current one.
---@param buf integer
---@param row integer its first line, from 0
---@param per_item integer
function M.mark_current(buf, row, per_item)
  vim.api.nvim_buf_clear_namespace(buf, CURRENT, 0, -1)
  for line = row, row + per_item - 1 do
    vim.api.nvim_buf_set_extmark(buf, CURRENT, line, 0, {
      line_hl_group = 'WinnowCurrent',
    })
  end
end

---Where a word stands in each text, ignoring case unless it has capitals; else its letters in their
---order in the path. Of a long line and a reason, letters in their order would be in everything.
---@param looked_at { path: string, text: string }[] of each item
---@param word string
---@return table<integer, integer[]> positions bytes from 0, by the item's place
local function occurrences(looked_at, word)
  local found = {}
  local ignore_case = word:lower() == word
  local others = {}
  for place, one in ipairs(looked_at) do
    local at = (ignore_case and one.text:lower() or one.text):find(word, 1, true)
    if at then
      found[place] = vim.fn.range(at - 1, at + #word - 2)
    else
      others[#others + 1] = { place = place, path = one.path }
    end
  end
  -- It knows no case.
  local fuzzy = vim.fn.matchfuzzypos(ignore_case and others or {}, word, { key = 'path' })
  for nth, one in ipairs(fuzzy[1]) do
    found[one.place] = vim.tbl_map(function(at)
      return vim.str_byteindex(one.path, 'utf-32', at, false)
    end, fuzzy[2][nth])
  end
  return found
end

---The items that have all words of a filter, and where. Items stay in the order that they have: a
---ranking is worth more than how letters fall.
---@param items winnow.Item[]
---@param filter string
---@return winnow.Item[]
---@return table<integer, integer[]>
function M.filtered(items, filter)
  local words = vim.split(vim.trim(filter), '%s+', { trimempty = true })
  if #words == 0 then
    return items, {}
  end
  local looked_at = vim.tbl_map(function(item)
    return { path = item.path, text = M.filter_text(item) }
  end, items)
  local found = vim.tbl_map(function(word)
    return occurrences(looked_at, word)
  end, words)
  local kept, positions = {}, {}
  for place, item in ipairs(items) do
    local all = {}
    for _, by_place in ipairs(found) do
      all[#all + 1] = by_place[place]
    end
    if #all == #words then
      kept[#kept + 1] = item
      positions[#kept] = vim.iter(all):flatten():totable()
    end
  end
  return kept, positions
end

return M
