-- Write the picker's list: one or two lines for each item, with highlights.

local M = {}

local NAMESPACE = vim.api.nvim_create_namespace('winnow-list')
local CURRENT = vim.api.nvim_create_namespace('winnow-current')
local MARK = '●'
-- Longer lines, as in minified files, are cut.
local MAX_TEXT_BYTES = 400

---@param text string
---@return string
local function shorten(text)
  text = vim.trim(text):gsub('[%c]', ' ')
  return #text > MAX_TEXT_BYTES and vim.fn.strcharpart(text, 0, MAX_TEXT_BYTES) or text
end

---Return the first line of an item, `path:line: text`.
---@param item winnow.Item
---@return string line
---@return integer path_end end of the path, in bytes
---@return integer number_end end of the line number, in bytes
---@return integer place_end end of the location in a document, in bytes
local function first_line(item)
  local number = ('%s:%d'):format(item.path, item.lnum)
  local place = item.place and ('%s (%s)'):format(number, item.place) or number
  local text = shorten(item.text)
  return text == '' and place or ('%s: %s'):format(place, text), #item.path, #number, #place
end

---@param item winnow.Item
---@return string
function M.filter_text(item)
  return (first_line(item)) .. ' ' .. shorten(item.reason)
end

---Write items into a buffer.
---@param buf integer
---@param items winnow.Item[]
---@param options { reasons: boolean, selected: table<string, boolean>,
---  positions: table<integer, integer[]> } `positions` has the filter's matches, by item
---@return integer per_item number of lines of each item
function M.write(buf, items, options)
  local lines, marks = {}, {}
  local per_item = options.reasons and 2 or 1
  local function mark(row, first, last, group)
    marks[#marks + 1] = { row, first, last, group }
  end
  for index, item in ipairs(items) do
    local row = #lines
    local is_selected = options.selected[item.key]
    local indent = is_selected and MARK .. ' ' or '  '
    local text, path_end, number_end, place_end = first_line(item)
    lines[#lines + 1] = indent .. text
    mark(row, #indent, #indent + path_end, 'WinnowPath')
    mark(row, #indent + path_end, #indent + number_end, 'WinnowLine')
    mark(row, #indent + number_end, #indent + place_end, 'WinnowPlace')
    if is_selected then
      mark(row, 0, #MARK, 'WinnowSelected')
    end
    local reason = shorten(item.reason)
    if options.reasons then
      lines[#lines + 1] = '    ' .. reason
      mark(row + 1, 0, #lines[#lines], 'WinnowReason')
    end
    for _, byte in ipairs(options.positions[index] or {}) do
      if byte < #text then
        mark(row, #indent + byte, #indent + byte + 1, 'WinnowFilter')
      elseif options.reasons and byte > #text then
        mark(row + 1, byte - #text + 3, byte - #text + 4, 'WinnowFilter')
      end
    end
  end
  vim.api.nvim_buf_set_lines(buf, 0, -1, false, lines)
  vim.api.nvim_buf_clear_namespace(buf, NAMESPACE, 0, -1)
  for _, highlight in ipairs(marks) do
    local row, first, last, group = unpack(highlight)
    vim.api.nvim_buf_set_extmark(buf, NAMESPACE, row, first, { end_col = last, hl_group = group })
  end
  return per_item
end

---Highlight the current item.
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

---Find a word in the text of each item, ignoring case unless it has capitals; otherwise find its
---letters, in order, in the item's path. In the longer text, letters in order would match
---everything.
---@param candidates { path: string, text: string }[] the path and text of each item
---@param word string
---@return table<integer, integer[]> positions bytes from 0, by index
local function occurrences(candidates, word)
  local positions = {}
  local ignore_case = word:lower() == word
  local unmatched = {}
  for index, candidate in ipairs(candidates) do
    local text = ignore_case and candidate.text:lower() or candidate.text
    local start = text:find(word, 1, true)
    if start then
      positions[index] = vim.fn.range(start - 1, start + #word - 2)
    else
      unmatched[#unmatched + 1] = { index = index, path = candidate.path }
    end
  end
  -- Fuzzy matching always ignores case.
  local fuzzy = vim.fn.matchfuzzypos(ignore_case and unmatched or {}, word, { key = 'path' })
  for number, match in ipairs(fuzzy[1]) do
    positions[match.index] = vim.tbl_map(function(character)
      return vim.str_byteindex(match.path, 'utf-32', character, false)
    end, fuzzy[2][number])
  end
  return positions
end

---Return the items that contain all words of a filter, and the positions of the matches. The items
---keep their order, because the ranking is better than the quality of the matches.
---@param items winnow.Item[]
---@param filter string
---@return winnow.Item[]
---@return table<integer, integer[]>
function M.filtered(items, filter)
  local words = vim.split(vim.trim(filter), '%s+', { trimempty = true })
  if #words == 0 then
    return items, {}
  end
  local candidates = vim.tbl_map(function(item)
    return { path = item.path, text = M.filter_text(item) }
  end, items)
  local by_word = vim.tbl_map(function(word)
    return occurrences(candidates, word)
  end, words)
  local matching, positions = {}, {}
  for index, item in ipairs(items) do
    local matches = {}
    for _, word_positions in ipairs(by_word) do
      matches[#matches + 1] = word_positions[index]
    end
    if #matches == #words then
      matching[#matching + 1] = item
      positions[#matching] = vim.iter(matches):flatten():totable()
    end
  end
  return matching, positions
end

return M
