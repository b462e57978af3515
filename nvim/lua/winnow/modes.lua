-- The kinds of search: the request that each is, and the items that its answer has.

local M = {}

---@class winnow.ModeSpec
---@field title string
---@field method string
---@field query string the param that the query goes to
---@field live boolean whether it is fast and local enough to be asked while somebody types
---@field empty? boolean whether an empty query has an answer
---@field ranked? boolean whether a partial answer replaces what came before, see |winnow.Search|
---@field reasons boolean whether items have reasons, which take a line of their own
---@field drafts fun(answer: table): winnow.Draft[] of an answer or a part of one

---@param result table
---@param lnum integer
---@return winnow.Draft
local function place(result, lnum)
  return {
    path = result.path,
    root = result.root,
    file = result.uri and vim.uri_to_fname(result.uri) or nil,
    lnum = lnum,
  }
end

---@param draft winnow.Draft
---@param root string the folder of the answer
---@return winnow.Item
local function item(draft, root)
  draft.key = draft.key
    or ('%s\0%s\0%d\0%d'):format(
      draft.root or '',
      draft.file or draft.path,
      draft.lnum,
      draft.col or 0
    )
  draft.file = draft.file or vim.fs.joinpath(draft.root or root, draft.path)
  draft.text = draft.text or ''
  draft.reason = draft.reason or ''
  draft.matches = draft.matches or {}
  return draft --[[@as winnow.Item]]
end

---The text's URI without the line, which is a buffer's name.
local function without_fragment(uri)
  return (uri:gsub('#.*$', ''))
end

---@param parts table
---@return string?
local function place_in_document(parts)
  local said = {}
  local function add(format, value)
    if value then
      said[#said + 1] = format:format(value)
    end
  end
  add('%s', parts.member)
  add('page %d', parts.page)
  add('slide %d', parts.slide)
  add('%s', parts.sheet)
  add('%s', parts.cell)
  add('%s', parts.section)
  return #said > 0 and table.concat(said, ', ') or nil
end
M.place_in_document = place_in_document

---@param match { line: integer, match_range: [integer, integer], end_line?: integer }
---@return winnow.Range
local function range(match)
  return {
    lnum = match.line,
    first = match.match_range[1],
    last = match.match_range[2],
    end_lnum = match.end_line,
  }
end

---The first line of a text that is not blank.
local function first_line(text)
  return vim.trim((text or ''):match('[^\n]*%S[^\n]*') or '')
end

---Where a ranked file is opened: at the line that was chosen for it, at the match in it.
---@param file table
---@return winnow.Draft
local function ranked_file(file)
  local lnum = file.line or (file.passage and file.passage.start_line)
  local chosen
  for _, match in ipairs(file.matches) do
    if not lnum or match.line == lnum then
      chosen = match
      break
    end
  end
  local first = chosen or file.matches[1] or {}
  local fields = place(file, lnum or first.line or 1)
  fields.col = chosen and chosen.column
  fields.text = first.text or first_line(file.passage and file.passage.snippet)
  fields.text_column = first.text_column
  fields.reason = file.reason
  fields.matches = vim.tbl_map(range, file.matches)
  if file.preview_uri then
    fields.file = without_fragment(file.preview_uri)
    fields.place = place_in_document(first)
  end
  -- The file, not the line: a model may open it elsewhere, and it is the same result.
  fields.key = (fields.root or '') .. '\0' .. (fields.file or fields.path)
  return fields
end

---A file that a model was sent and has not chosen.
---@param file { path: string, root?: string, uri?: string, line?: integer, preview_uri?: string }
---@return winnow.Draft
local function other_file(file)
  local fields = ranked_file(vim.tbl_extend('keep', file, { matches = {} }))
  fields.reason = 'not chosen by the model'
  return fields
end

---@param match table
---@return winnow.Draft
local function grep_match(match)
  local fields = place(match, match.line)
  fields.col = match.column
  for _, line in ipairs(match.preview) do
    if line.line == match.line then
      fields.text, fields.text_column = line.text, line.text_column
    end
  end
  fields.matches = { range(match) }
  return fields
end

---@param file table
---@return winnow.Draft
local function matching_file(file)
  local fields = place(file, 1)
  fields.reason = file.matches and ('%d matches'):format(file.matches) or nil
  return fields
end

---@param found table
---@return winnow.Draft
local function symbol(found)
  local fields = place(found, found.line)
  fields.col = found.column
  fields.text = found.signature or found.qualified_name
  local about = { found.kind .. ' ' .. found.qualified_name, found.place, found.doc }
  fields.reason = table.concat(
    vim.tbl_filter(function(part)
      return part ~= nil
    end, { about[1], about[2], about[3] }),
    ' · '
  )
  local last = found.column + vim.str_utfindex(found.name, 'utf-32')
  fields.matches = { { lnum = found.line, first = found.column, last = last } }
  return fields
end

---@param found table
---@return winnow.Draft
local function passage(found)
  local fields = place(found, found.snippet_line or found.line or found.start_line or 1)
  fields.text = first_line(found.snippet)
  local why = found.why or ''
  fields.reason = (found.symbol and why ~= '') and ('%s · %s'):format(found.symbol, why)
    or found.symbol
    or why
  return fields
end

---@param document table
---@param match table
---@return winnow.Draft
local function document_match(document, match)
  return {
    path = document.path,
    root = document.root,
    file = without_fragment(match.preview_uri),
    open_uri = match.open_uri,
    lnum = match.line,
    col = match.column,
    text = match.text,
    text_column = match.text_column,
    place = place_in_document(match),
    matches = vim.tbl_map(function(one)
      return { lnum = match.line, first = one[1], last = one[2] }
    end, match.ranges or { match.match_range }),
  }
end

---@type table<winnow.Mode, winnow.ModeSpec>
M.modes = {
  keyword = {
    title = 'keyword search',
    method = '$/keywordSearch',
    query = 'query',
    live = false,
    ranked = true,
    reasons = true,
    drafts = function(answer)
      local drafts = vim.tbl_map(ranked_file, answer.files or {})
      return vim.list_extend(drafts, vim.tbl_map(other_file, answer.not_chosen or {}))
    end,
  },
  docs = {
    title = 'documents',
    method = '$/searchDocs',
    query = 'query',
    live = false,
    reasons = false,
    drafts = function(answer)
      local drafts = {}
      for _, document in ipairs(answer.documents or {}) do
        for _, match in ipairs(document.matches) do
          drafts[#drafts + 1] = document_match(document, match)
        end
      end
      return drafts
    end,
  },
  symbols = {
    title = 'symbols',
    method = '$/findSymbol',
    query = 'name',
    live = true,
    empty = true,
    reasons = true,
    drafts = function(answer)
      return vim.tbl_map(symbol, answer.symbols or {})
    end,
  },
  grep = {
    title = 'grep',
    method = '$/grep',
    query = 'pattern',
    live = true,
    reasons = false,
    drafts = function(answer)
      local drafts = vim.tbl_map(grep_match, answer.matches or {})
      return vim.list_extend(drafts, vim.tbl_map(matching_file, answer.files or {}))
    end,
  },
  semantic = {
    title = 'semantic search',
    method = '$/semanticSearch',
    query = 'query',
    live = true,
    reasons = true,
    drafts = function(answer)
      return vim.tbl_map(passage, answer.results or {})
    end,
  },
  code = {
    title = 'code search',
    method = '$/codeSearch',
    query = 'query',
    live = true,
    reasons = true,
    drafts = function(answer)
      return vim.tbl_map(passage, answer.results or {})
    end,
  },
}

---The names, in the order in which they are offered.
M.names = { 'keyword', 'docs', 'symbols', 'grep', 'semantic', 'code' }

---The items of an answer, or of a part of one.
---@param spec winnow.ModeSpec
---@param answer table
---@param root string the folder that its paths are relative to
---@return winnow.Item[]
function M.items(spec, answer, root)
  return vim.tbl_map(function(draft)
    return item(draft, root)
  end, spec.drafts(answer))
end

---@param name any
---@return winnow.ModeSpec
function M.get(name)
  local spec = M.modes[name]
  if not spec then
    local names = table.concat(M.names, ', ')
    error(('winnow: unknown mode `%s`; use one of %s'):format(tostring(name), names), 0)
  end
  return spec
end

return M
