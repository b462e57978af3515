-- The search modes: the request of each, and the items in its answer.

local M = {}

---@class winnow.ModeSpec
---@field title string
---@field method string
---@field query string the name of the query's param
---@field params? table<string, any> params that make it this mode
---@field live boolean true if it is fast and local enough to search as the user types
---@field empty? boolean true if an empty query is allowed
---@field ranked? boolean true if a ranker orders all results, and a model can
---@field reasons boolean true if items have reasons
---@field drafts fun(answer: table): winnow.Draft[] converts an answer or a partial answer

---@param result table
---@param lnum integer
---@return winnow.Draft
local function place(result, lnum)
  if result.repository then
    return {
      path = ('%s:%s'):format(result.repository, result.path),
      repository = result.repository,
      file = require('winnow.repository').name(result),
      lnum = lnum,
    }
  end
  return {
    path = result.path,
    root = result.root,
    file = result.uri and vim.uri_to_fname(result.uri) or nil,
    lnum = lnum,
  }
end

---@param draft winnow.Draft
---@param root string the answer's root
---@return winnow.Item
function M.item(draft, root)
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

---Return the URI of a document's text without the line: the name of its buffer.
local function without_fragment(uri)
  return (uri:gsub('#.*$', ''))
end

---@param parts table
---@return string?
local function place_in_document(parts)
  local texts = {}
  local function add(format, value)
    if value then
      texts[#texts + 1] = format:format(value)
    end
  end
  add('%s', parts.member)
  add('page %d', parts.page)
  add('slide %d', parts.slide)
  add('%s', parts.sheet)
  add('%s', parts.cell)
  add('%s', parts.section)
  return #texts > 0 and table.concat(texts, ', ') or nil
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

---Return the first non-blank line of a text.
local function first_line(text)
  return vim.trim((text or ''):match('[^\n]*%S[^\n]*') or '')
end

---Return patterns that find a line again by its text, of which "…" replaces the ends of a long one.
---@param text? string
---@return string[]? patterns nil if the text is empty, which tells nothing
local function part_of_line(text)
  text = vim.trim((text or ''):gsub('^…', ''):gsub('…$', ''))
  return text ~= '' and { vim.pesc(text) } or nil
end

---Return a pattern that finds a line by a name, which is not part of a longer one.
---@param name string
---@return string
local function whole_word(name)
  local first = name:find('^[%w_]') and '%f[%w_]' or ''
  local last = name:find('[%w_]$') and '%f[^%w_]' or ''
  return first .. vim.pesc(name) .. last
end

---Return a line of a snippet, which is empty if the snippet does not have it.
---@param found { snippet?: string, snippet_line?: integer }
---@param lnum integer
---@param first integer The first line of the result.
---@return string
local function snippet_line(found, lnum, first)
  local lines = vim.split(found.snippet or '', '\n')
  return vim.trim(lines[lnum - (found.snippet_line or first) + 1] or '')
end

---Convert a ranked file. It opens at its chosen line, at the match in that line.
---@param file table
---@return winnow.Draft
local function ranked_file(file)
  local lnum = file.line or (file.passage and file.passage.start_line)
  local match_in_line
  for _, match in ipairs(file.matches) do
    if not lnum or match.line == lnum then
      match_in_line = match
      break
    end
  end
  local first = match_in_line or file.matches[1] or {}
  local fields = place(file, lnum or first.line or 1)
  fields.col = match_in_line and match_in_line.column
  fields.text = (match_in_line and match_in_line.text) or file.line_text or first.text or ''
  fields.text_column = match_in_line and match_in_line.text_column
  fields.line_patterns = part_of_line(match_in_line and match_in_line.text or file.line_text)
  fields.reason = file.reason
  fields.matches = vim.tbl_map(range, file.matches)
  if file.preview_uri then
    fields.file = without_fragment(file.preview_uri)
    fields.place = place_in_document(first)
  end
  -- Without the line: a model may choose another line for the same result.
  fields.key = (fields.root or '') .. '\0' .. (fields.file or fields.path)
  return fields
end

---Convert a file that was sent to a model but not chosen.
---@param file { path: string, root?: string, uri?: string, line?: integer, preview_uri?: string }
---@return winnow.Draft
local function not_chosen_file(file)
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
      fields.line_patterns = part_of_line(line.text)
    end
  end
  fields.matches = { range(match) }
  return fields
end

---@param file table
---@return winnow.Draft
local function matching_file(file)
  local fields = place(file, 1)
  fields.is_file = true
  fields.reason = file.matches and ('%d matches'):format(file.matches) or nil
  return fields
end

---@param found table
---@return winnow.Draft
local function symbol(found)
  local fields = place(found, found.line)
  fields.col = found.column
  fields.text = found.signature or found.qualified_name
  fields.is_signature = true
  -- A signature may have several lines.
  fields.line_patterns = { vim.pesc(fields.text), whole_word(found.name) }
  -- The signature has the name. Its class or module is news.
  local kind = found.kind:gsub('_', ' ')
  kind = found.qualified_name == found.name and kind or kind .. ' ' .. found.qualified_name
  local details = {}
  for _, detail in ipairs({ kind, found.place or '', found.doc or '' }) do
    details[#details + 1] = detail ~= '' and detail or nil
  end
  fields.reason = table.concat(details, ' · ')
  local last = found.column + vim.str_utfindex(found.name, 'utf-32')
  fields.matches = { { lnum = found.line, first = found.column, last = last } }
  return fields
end

---@param found table
---@return winnow.Draft
local function passage(found)
  local first = found.line or found.start_line or 1
  local fields = place(found, found.best_line or first)
  fields.is_file = not (found.line or found.start_line)
  local line = snippet_line(found, fields.lnum, first)
  fields.text = line ~= '' and line or first_line(found.snippet)
  fields.line_patterns = part_of_line(line)
  local why = found.why or ''
  -- A model may choose another line of the same place.
  fields.key = ('%s\0%s\0%d'):format(fields.root or '', fields.file or fields.path, first)
  local is_named = not found.symbol or (why .. fields.text):find(found.symbol, 1, true)
  -- A narrow column shows only the start.
  fields.reason = is_named and why or why == '' and found.symbol or why .. ' · ' .. found.symbol
  return fields
end

---Convert a place that was sent to a model but not chosen.
---@param found table
---@return winnow.Draft
local function not_chosen_place(found)
  local fields = passage(found)
  fields.reason = 'not chosen by the model'
  return fields
end

---@param document table
---@param match table
---@return winnow.Draft
local function document_match(document, match)
  return {
    path = document.path,
    root = document.root,
    -- The lines of a text file are those of its text.
    file = document.format ~= 'text' and without_fragment(match.preview_uri) or nil,
    open_uri = match.open_uri,
    lnum = match.line,
    col = match.column,
    text = match.text,
    text_column = match.text_column,
    place = place_in_document(match),
    matches = vim.tbl_map(function(columns)
      return { lnum = match.line, first = columns[1], last = columns[2] }
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
      return vim.list_extend(drafts, vim.tbl_map(not_chosen_file, answer.not_chosen or {}))
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
    title = 'search',
    method = '$/codeSearch',
    query = 'query',
    live = true,
    reasons = true,
    drafts = function(answer)
      local drafts = vim.tbl_map(passage, answer.results or {})
      return vim.list_extend(drafts, vim.tbl_map(not_chosen_place, answer.not_chosen or {}))
    end,
  },
  files = {
    title = 'files',
    method = '$/codeSearch',
    query = 'query',
    params = { search_type = 'file' },
    live = true,
    reasons = false,
    drafts = function(answer)
      return vim.tbl_map(passage, answer.results or {})
    end,
  },
}

---The names of the modes, in display order. The first is that of `:Winnow` without a mode.
---@type winnow.Mode[]
M.names = { 'code', 'files', 'grep', 'symbols', 'semantic', 'keyword', 'docs' }

---Return the items of an answer or a partial answer.
---@param spec winnow.ModeSpec
---@param answer table
---@param root string the root of its paths
---@return winnow.Item[]
function M.items(spec, answer, root)
  return vim.tbl_map(function(draft)
    return M.item(draft, root)
  end, spec.drafts(answer))
end

---Return true if a later partial answer can replace earlier ones: a ranker orders all results, or
---a language model may.
---@param mode winnow.Mode
---@param params? table<string, any>
---@return boolean
function M.is_ranked(mode, params)
  local ranker = params and params.ranker or 'local'
  return M.get(mode).ranked == true or ranker ~= 'local'
end

---Return true if a mode searches as the user types: it is fast, and nothing leaves this machine.
---@param mode winnow.Mode
---@param params? table<string, any>
---@return boolean
function M.is_live(mode, params)
  return M.get(mode).live and not M.is_ranked(mode, params)
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
