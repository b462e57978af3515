-- Write the picker's list: one line for each item, in columns for the file, the line of code and
-- the reason, so that results line up.
--
-- A list may be long, and it is drawn many times while results arrive. So only the lines near the
-- visible ones are formatted, once for each width of the columns, and highlights are set while
-- Neovim draws them.

local config = require('winnow.config')
local place = require('winnow.place')

local M = {}

local NAMESPACE = vim.api.nvim_create_namespace('winnow-list')
local CURRENT = vim.api.nvim_create_namespace('winnow-current')
local MARK = '●'
local INDENT = '  '
-- Longer lines, as in minified files, are cut.
local MAX_TEXT_BYTES = 400
-- Between two columns.
local GAP = '  '
-- A narrower list has no column for reasons: the border of the preview shows them.
local REASONS_FROM = 70
-- The widest columns of files and reasons, the largest share of a row for files, with reasons and
-- without, and that of the rest for reasons if lines of code need more.
local MAX_FILE, MAX_REASON = 40, 60
local FILE_SHARE, FILE_SHARE_WITHOUT_REASONS, REASON_SHARE = 0.32, 0.42, 0.4
-- A shorter end of a folder's name tells nothing.
local MIN_FOLDER = 6
-- Above the priority of the other highlights, which is 4096. A match is visible in the current row.
local CURRENT_PRIORITY, MATCH_PRIORITY = 4150, 4200

---@class winnow.Row
---@field lines string[] one line, or two with the reason below
---@field marks [integer, integer, integer, string][] line, first byte, last byte (exclusive), group
---@field name [integer, integer] the bytes of the file's name in the first line
---@field text [integer, integer] the bytes of the line of code in the first line
---@field has_match boolean true if a mark shows the match

---@class winnow.RowOptions
---@field width integer of the window
---@field reasons 'beside'|'below'|'none' the place of the reasons
---@field words string[] words of the query to highlight where the server reports no match
---@field filter string[] words of the filter to highlight
---@field selected table<string, boolean>

---What a list's buffer shows.
---@class winnow.View
---@field items winnow.Item[]
---@field rows table<integer, winnow.Row> the rows written so far, by the index of their item
---@field per_item integer
---@field columns winnow.Columns
---@field options winnow.RowOptions

---The shown lists, by buffer.
---@type table<integer, winnow.View>
local views = {}

-- Widths ----------------------------------------------------------------------------------

---@param text string
---@return integer
local function cells(text)
  return text:find('[\128-\255]') and vim.api.nvim_strwidth(text) or #text
end

---Cut the end of a text to a number of columns.
---@param text string
---@param width integer
---@return string
local function cut(text, width)
  if cells(text) <= width then
    return text
  elseif width < 2 then
    return ''
  elseif not text:find('[\128-\255]') then
    return text:sub(1, width - 1) .. '…'
  end
  return vim.fn.printf('%.' .. (width - 1) .. 'S', text) .. '…'
end

---Cut the middle of a name to a number of columns, because its ends tell the most.
---@param name string
---@param width integer
---@return string
local function cut_middle(name, width)
  if cells(name) <= width then
    return name
  end
  local count, half = vim.fn.strchars(name), math.floor((width - 1) / 2)
  return vim.fn.strcharpart(name, 0, half) .. '…' .. vim.fn.strcharpart(name, count - half)
end

---Shorten a folder's path to a number of columns: leave out the middle folders, then the first one,
---then the start of the last one.
---@param folder string
---@param width integer
---@return string
function M.shorten(folder, width)
  if cells(folder) <= width then
    return folder
  end
  local first, last = folder:match('^([^/]+)/'), folder:match('([^/]+)$') or folder
  for _, shorter in ipairs({ first and ('%s/…/%s'):format(first, last) or folder, '…/' .. last }) do
    if cells(shorter) <= width then
      return shorter
    end
  end
  if width < MIN_FOLDER then
    return ''
  end
  return '…' .. vim.fn.strcharpart(last, vim.fn.strchars(last) - width + 1)
end

-- Icons -----------------------------------------------------------------------------------

---Return the icon of a file and its highlight group, if a plugin for icons is loaded.
---@param name string
---@return string?
---@return string?
local function icon(name)
  if not config.current.icons then
    return nil
  end
  local mini = _G.MiniIcons ---@type table?
  if mini then
    local glyph, group = mini.get('file', name)
    return glyph, group
  end
  local devicons = package.loaded['nvim-web-devicons'] ---@type table?
  if devicons then
    return devicons.get_icon(name, name:match('%.([^.]+)$'), { default = true })
  end
end

-- Rows ------------------------------------------------------------------------------------

---@param text string
---@return string
local function one_line(text)
  return (vim.trim(text):gsub('[%c]', ' '))
end

---Return the bytes of the first match in an item's text, from 1, if the server reports it.
---@param item winnow.Item
---@return integer? first
---@return integer? last exclusive
local function match_in_text(item)
  for _, range in ipairs(item.matches) do
    if range.lnum == item.lnum and item.text ~= '' and not item.is_signature then
      local shift = (item.text_column or 1) - 1
      local continues = range.end_lnum and range.end_lnum ~= range.lnum
      local first = place.byte_column(item.text, range.first - shift)
      local past = #item.text
      if not continues then
        past = place.byte_column(item.text, range.last - shift)
      end
      if past > first then
        return first + 1, past + 1
      end
    end
  end
end

---Return the shown part of an item's line, and the bytes of the match in it.
---@param item winnow.Item
---@param width integer
---@return string text
---@return integer? first
---@return integer? last
local function shown_text(item, width)
  local blank = #item.text:match('^%s*')
  local text = one_line(item.text)
  local first, last = match_in_text(item)
  if first and last then
    first, last = math.max(1, first - blank), math.max(1, last - blank)
  end
  if first and last and cells(text:sub(1, last - 1)) > width - 1 then
    -- Keep some of the text before the match.
    local start = math.max(1, first - math.max(4, math.floor(width / 3)))
    start = start + (vim.str_utf_start(text, math.min(start, #text)) or 0)
    if start > 1 then
      text = '…' .. text:sub(start)
      first, last = first - start + 1 + #'…', last - start + 1 + #'…'
    end
  end
  if #text > MAX_TEXT_BYTES then
    text = text:sub(1, MAX_TEXT_BYTES + vim.str_utf_start(text, MAX_TEXT_BYTES + 1))
  end
  text = cut(text, width)
  if first and last and first <= #text then
    return text, first, math.min(last, #text + 1)
  end
  return text
end

---@class winnow.Columns
---@field file integer
---@field text integer
---@field reason integer 0 if there is no column for reasons

---The columns that the path of an item needs, with its line and place, those of its line of code
---and those of its reason.
---@type table<winnow.Item, [integer, integer, integer]>
local needed = setmetatable({}, { __mode = 'k' })

---@param item winnow.Item
---@return [integer, integer, integer]
local function needed_by(item)
  local path = 0
  if item.path ~= '' then
    path = cells(item.path) + #tostring(item.lnum) + 1
    path = path + (item.place and cells(item.place) + 3 or 0)
  end
  return { path, cells(one_line(item.text:sub(1, MAX_TEXT_BYTES))), cells(one_line(item.reason)) }
end

---Return the columns that the longest path, line of code and reason of the items need.
---@param items winnow.Item[]
---@return integer path
---@return integer text
---@return integer reason
local function longest(items)
  local path, text, reason = 0, 0, 0
  for _, item in ipairs(items) do
    local widths = needed[item]
    if not widths then
      widths = needed_by(item)
      needed[item] = widths
    end
    path, text = math.max(path, widths[1]), math.max(text, widths[2])
    reason = math.max(reason, widths[3])
  end
  return icon('a') and path + 2 or path, text, reason
end

---Return the widths of the columns for these items.
---@param items winnow.Item[]
---@param options winnow.RowOptions
---@return winnow.Columns
local function columns_of(items, options)
  local room = options.width - #INDENT - 1
  local longest_path, longest_text, longest_reason = longest(items)
  local has_reasons = options.reasons == 'beside' and room >= REASONS_FROM and longest_reason > 0
  local gaps = has_reasons and 2 * #GAP or #GAP
  local share = has_reasons and FILE_SHARE or FILE_SHARE_WITHOUT_REASONS
  local file = math.min(MAX_FILE, longest_path, math.floor((room - gaps) * share))
  ---@cast file integer
  local rest = room - gaps - file
  local most = math.max(rest - longest_text, math.floor(rest * REASON_SHARE))
  local reason = has_reasons and math.min(MAX_REASON, longest_reason, most) or 0
  ---@cast reason integer
  return { file = file, text = rest - reason, reason = reason }
end

---Return the pieces of the column of the file, with their highlight groups: icon, name, line, place
---in a document, and folder.
---@param item winnow.Item
---@param width integer
---@return winnow.Chunk[]
local function file_chunks(item, width)
  local folder, name = place.split(item)
  folder, name = one_line(folder), one_line(name)
  local glyph, group = icon(name)
  local chunks = {} ---@type winnow.Chunk[]
  if glyph then
    chunks[1] = { glyph .. ' ', group }
    width = width - cells(glyph) - 1
  end
  local line = item.is_file and '' or (':%d'):format(item.lnum)
  local where = item.place and (' (%s)'):format(one_line(item.place)) or ''
  where = cut(where, math.floor(width / 2))
  name = cut_middle(name, math.max(1, width - cells(line .. where)))
  local rest = { { name, 'WinnowName' }, { line, 'WinnowLine' }, { where, 'WinnowPlace' } }
  folder = M.shorten(folder, width - cells(name .. line .. where) - 1)
  if folder ~= '' then
    vim.list_extend(rest, { { ' ' }, { folder, 'WinnowPath' } })
  end
  return vim.list_extend(chunks, rest)
end

---@param item winnow.Item
---@param options winnow.RowOptions
---@param columns winnow.Columns
---@return winnow.Row
local function format(item, options, columns)
  local line, marks = INDENT, {} ---@type string, table
  local function add(text, group)
    local first = #line
    line = line .. text
    if group and text ~= '' then
      marks[#marks + 1] = { 0, first, #line, group }
    end
    return { first, #line }
  end
  -- Fill the line up to a column.
  local function fill(width)
    line = line .. (' '):rep(width + #INDENT - cells(line))
  end
  local reason = one_line(item.reason)
  local file_width, text_width = columns.file, columns.text
  -- Without a line of code, its column shows the reason if that has none, or the rest of the path.
  local text_is_reason = item.text == '' and columns.reason == 0 and options.reasons ~= 'below'
  if item.path == '' then
    file_width, text_width = 0, columns.file + #GAP + columns.text
  elseif item.text == '' and not (text_is_reason and reason ~= '') then
    file_width, text_width = columns.file + #GAP + columns.text, 0
  end
  local name_bytes = { #line, #line }
  if file_width > 0 then
    for _, chunk in ipairs(file_chunks(item, file_width)) do
      local bytes = add(chunk[1], chunk[2])
      name_bytes = chunk[2] == 'WinnowName' and bytes or name_bytes
    end
    fill(file_width)
    add(GAP)
  end
  local shown, first, last = shown_text(item, text_width)
  local text_bytes = add(shown, 'WinnowText')
  if first and last then
    marks[#marks + 1] = { 0, text_bytes[1] + first - 1, text_bytes[1] + last - 1, 'WinnowMatch' }
  end
  if text_is_reason then
    add(cut(reason, text_width), 'WinnowReason')
  elseif columns.reason > 0 then
    fill(columns.file + columns.text + 2 * #GAP)
    add(cut(reason, columns.reason), 'WinnowReason')
  end
  local lines = { line:match('.*%S') or '' } ---@type string[]
  if options.reasons == 'below' then
    local below = INDENT .. GAP .. cut(reason, options.width - 4)
    lines[#lines + 1] = below
    marks[#marks + 1] = { 1, 0, #below, 'WinnowReason' }
  end
  return {
    lines = lines,
    marks = marks,
    name = name_bytes,
    text = text_bytes,
    has_match = first ~= nil,
  }
end

---@type table<winnow.Item, { key: string, row: winnow.Row }>
local formatted = setmetatable({}, { __mode = 'k' })

---@param item winnow.Item
---@param options winnow.RowOptions
---@param columns winnow.Columns
---@return winnow.Row
local function row_of(item, options, columns)
  local key = ('%d %d %d %s'):format(options.width, columns.file, columns.reason, options.reasons)
  local kept = formatted[item]
  if not kept or kept.key ~= key then
    kept = { key = key, row = format(item, options, columns) }
    formatted[item] = kept
  end
  return kept.row
end

---@param item winnow.Item
---@return string
function M.filter_text(item)
  return ('%s:%d %s %s'):format(item.path, item.lnum, one_line(item.text), one_line(item.reason))
end

-- Highlights --------------------------------------------------------------------------------

---Return the bytes, from 0, of a word in a text; without capitals, ignore case.
---@param text string
---@param word string
---@param bounds [integer, integer]
---@return integer? first
---@return integer? last
local function find_word(text, word, bounds)
  local searched = word:lower() == word and text:lower() or text
  local first, last = searched:find(word, bounds[1] + 1, true)
  if first and last and last <= bounds[2] then
    return first - 1, last
  end
end

---Return the bytes, from 0, of letters that occur in order in a part of a text.
---@param text string
---@param letters string
---@param bounds [integer, integer]
---@return integer[]
local function find_letters(text, letters, bounds)
  local part = text:sub(bounds[1] + 1, bounds[2])
  local found = vim.fn.matchfuzzypos({ part }, letters)
  local bytes = {}
  for _, character in ipairs(found[2][1] or {}) do
    bytes[#bytes + 1] = bounds[1] + vim.str_byteindex(part, 'utf-32', character, false)
  end
  return bytes
end

---@param buf integer
---@param line integer
---@param first integer
---@param last integer
---@param group string
---@param priority? integer
local function highlight(buf, line, first, last, group, priority)
  vim.api.nvim_buf_set_extmark(buf, NAMESPACE, line, first, {
    end_col = last,
    hl_group = group,
    ephemeral = true,
    priority = priority,
  })
end

---@param buf integer
---@param line integer
---@param row winnow.Row
---@param options winnow.RowOptions
local function highlight_words(buf, line, row, options)
  local text = row.lines[1] --[[@as string]]
  for _, word in ipairs(row.has_match and {} or options.words) do
    for _, bounds in ipairs({ row.name, row.text }) do
      local first, last = find_word(text, word, bounds)
      if first and last then
        highlight(buf, line, first, last, 'WinnowMatch', MATCH_PRIORITY)
      end
    end
  end
  for _, word in ipairs(options.filter) do
    local everything = { #INDENT, #text }
    local first, last = find_word(text, word, everything)
    if first and last then
      highlight(buf, line, first, last, 'WinnowLetters', MATCH_PRIORITY + 1)
    else
      for _, byte in ipairs(find_letters(text, word, { #INDENT, row.text[1] })) do
        highlight(buf, line, byte, byte + 1, 'WinnowLetters', MATCH_PRIORITY + 1)
      end
    end
  end
end

---@param buf integer
---@param view winnow.View
---@param index integer of an item
local function highlight_item(buf, view, index)
  local row = view.rows[index]
  if not row then
    return
  end
  local item = view.items[index] --[[@as winnow.Item]]
  local line = (index - 1) * view.per_item
  for _, mark in ipairs(row.marks) do
    highlight(
      buf,
      line + mark[1],
      mark[2],
      mark[3],
      mark[4],
      mark[4] == 'WinnowMatch' and MATCH_PRIORITY or nil
    )
  end
  highlight_words(buf, line, row, view.options)
  if view.options.selected[item.key] then
    vim.api.nvim_buf_set_extmark(buf, NAMESPACE, line, 0, {
      virt_text = { { MARK, 'WinnowSelected' } },
      virt_text_pos = 'overlay',
      ephemeral = true,
    })
  end
end

vim.api.nvim_set_decoration_provider(NAMESPACE, {
  on_win = function(_, _, buf, top, bottom)
    local view = views[buf]
    if not view then
      return false
    end
    local last = math.min(math.floor(bottom / view.per_item) + 1, #view.items)
    for index = math.floor(top / view.per_item) + 1, last do
      highlight_item(buf, view, index)
    end
    return false
  end,
})

-- The buffer --------------------------------------------------------------------------------

---Replace the lines of a buffer from a line, counted from 0, that differ.
---@param buf integer
---@param from integer
---@param lines string[]
local function set_lines(buf, from, lines)
  local before = vim.api.nvim_buf_get_lines(buf, from, from + #lines, false)
  local same = 0
  while same < #lines and lines[same + 1] == before[same + 1] do
    same = same + 1
  end
  if same < #lines then
    local rest = vim.list_slice(lines, same + 1)
    vim.api.nvim_buf_set_lines(buf, from + same, from + #before, false, rest)
  end
end

---Add empty lines to a buffer, or remove lines, until it has this number of lines.
---@param buf integer
---@param count integer
local function set_line_count(buf, count)
  local before = vim.api.nvim_buf_line_count(buf)
  local more = {}
  for index = 1, count - before do
    more[index] = ''
  end
  if before ~= count then
    vim.api.nvim_buf_set_lines(buf, math.min(before, count), -1, false, more)
  end
end

---Write items into a buffer: the number of lines now, the lines themselves with |show()|.
---@param buf integer
---@param items winnow.Item[]
---@param options winnow.RowOptions
---@return integer per_item number of lines of each item
function M.write(buf, items, options)
  local per_item = options.reasons == 'below' and 2 or 1
  local columns = columns_of(items, options)
  set_line_count(buf, #items * per_item)
  views[buf] = {
    items = items,
    rows = {},
    per_item = per_item,
    columns = columns,
    options = options,
  }
  return per_item
end

---Write the items that a window shows, and as many lines above and below them, because scrolling is
---drawn first.
---@param buf integer
---@param top integer the first visible line, from 1
---@param bottom integer the last one
function M.show(buf, top, bottom)
  local view = views[buf]
  if not view then
    return
  end
  local margin = bottom - top + 1
  local first = math.max(1, math.floor((top - margin - 1) / view.per_item) + 1)
  local last = math.min(#view.items, math.ceil((bottom + margin) / view.per_item))
  local lines = {}
  for index = first, last do
    local item = view.items[index] --[[@as winnow.Item]]
    local row = view.rows[index] or row_of(item, view.options, view.columns)
    view.rows[index] = row
    vim.list_extend(lines, row.lines)
  end
  set_lines(buf, (first - 1) * view.per_item, lines)
end

---Write a message into a buffer, instead of items.
---@param buf integer
---@param paragraphs string[]
---@param width integer
---@param group string
function M.write_message(buf, paragraphs, width, group)
  local lines = {}
  for _, paragraph in ipairs(paragraphs) do
    local line = ''
    for word in paragraph:gmatch('%S+') do
      if line ~= '' and cells(line) + cells(word) + 1 > width - 4 then
        lines[#lines + 1] = INDENT .. line
        line = word
      else
        line = line == '' and word or line .. ' ' .. word
      end
    end
    lines[#lines + 1] = INDENT .. line
  end
  views[buf] = nil
  vim.api.nvim_buf_set_lines(buf, 0, -1, false, lines)
  vim.api.nvim_buf_clear_namespace(buf, CURRENT, 0, -1)
  for row = 0, #lines - 1 do
    vim.api.nvim_buf_set_extmark(buf, CURRENT, row, 0, { end_row = row + 1, hl_group = group })
  end
end

---Forget a buffer's rows.
---@param buf integer
function M.close(buf)
  views[buf] = nil
end

---Highlight the current item.
---@param buf integer
---@param row integer its first line, from 0
---@param per_item integer
function M.mark_current(buf, row, per_item)
  vim.api.nvim_buf_clear_namespace(buf, CURRENT, 0, -1)
  vim.api.nvim_buf_set_extmark(buf, CURRENT, row, 0, {
    end_row = row + per_item,
    hl_group = 'WinnowCurrent',
    hl_eol = true,
    priority = CURRENT_PRIORITY,
  })
end

-- The filter --------------------------------------------------------------------------------

---@param text string
---@return string[]
function M.words(text)
  return vim.split(vim.trim(text), '%s+', { trimempty = true })
end

---Find a word in the text of each item, ignoring case unless it has capitals; otherwise find its
---letters, in order, in the item's path. In the longer text, letters in order would match
---everything.
---@param candidates { index: integer, path: string, text: string }[]
---@param word string
---@return table<integer, true> found the indexes
local function occurrences(candidates, word)
  local found, unmatched = {}, {}
  local ignore_case = word:lower() == word
  for _, candidate in ipairs(candidates) do
    local text = ignore_case and candidate.text:lower() or candidate.text
    if text:find(word, 1, true) then
      found[candidate.index] = true
    else
      unmatched[#unmatched + 1] = candidate
    end
  end
  -- Fuzzy matching always ignores case.
  local fuzzy = vim.fn.matchfuzzy(ignore_case and unmatched or {}, word, { key = 'path' })
  for _, match in ipairs(fuzzy) do
    found[match.index] = true
  end
  return found
end

---Return a new list of the items that contain all words of a filter. They keep their order, because
---the ranking is better than the quality of the matches.
---@param items winnow.Item[]
---@param filter string
---@return winnow.Item[]
function M.filtered(items, filter)
  local words = M.words(filter)
  if #words == 0 then
    return vim.list_slice(items)
  end
  local candidates = {}
  for index, item in ipairs(items) do
    candidates[index] = { index = index, path = item.path, text = M.filter_text(item) }
  end
  local by_word = vim.tbl_map(function(word)
    return occurrences(candidates, word)
  end, words)
  local matching = {}
  for index, item in ipairs(items) do
    local missing = vim.iter(by_word):find(function(found)
      return not found[index]
    end)
    if missing == nil then
      matching[#matching + 1] = item
    end
  end
  return matching
end

return M
