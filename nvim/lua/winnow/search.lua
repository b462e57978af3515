-- A running search: its request, the items so far, and the answer when it is complete.
--
-- Every front end (picker, lists, adapters, Lua) starts one and receives its updates.

local answers = require('winnow.answer')
local client = require('winnow.client')
local config = require('winnow.config')
local modes = require('winnow.modes')

---@class winnow.Search
---@field mode winnow.Mode
---@field request winnow.Request
---@field folder string the project's folder
---@field root string the root of the items' paths
---@field items winnow.Item[] the items so far, as displayed
---@field answer? winnow.Answer the complete answer
---@field ranked_by? winnow.RankedBy the ranker of the items so far
---@field problem? string why there is no answer
---@field started integer when it started, in milliseconds
---@field took integer how long it took
---@field busy boolean
---@field waits_for_server boolean true while the server starts
---@field ranked boolean true if a partial answer can replace earlier ones
---@field message string the server's progress
---@field private chosen_count integer number of items, from the first, that a model chose so far
---@field cancelled? boolean
---@field private _cancel? fun()
---@field private _on_update fun(search: winnow.Search)
local Search = {}
Search.__index = Search

---@class winnow.SearchOptions
---@field on_update fun(search: winnow.Search) called after each change
---@field folder? string the project, by default the current buffer's
---@field shows_progress? boolean true if the caller shows the server's progress

local M = {}

---Insert the items a model chose after those it chose before and above the others.
---@param items winnow.Item[]
---@param new winnow.Item[]
---@param chosen_count integer number of items, from the first, that the model chose before
---@return winnow.Item[] items
---@return integer chosen_count
local function with_chosen(items, new, chosen_count)
  local merged, seen = {}, {}
  local function add(more)
    for _, item in ipairs(more) do
      if not seen[item.key] then
        seen[item.key] = true
        merged[#merged + 1] = item
      end
    end
  end
  add(vim.list_slice(items, 1, chosen_count))
  add(new)
  local total = #merged
  add(items)
  return merged, total
end

---Append items. An answer has each line once, also if it matches several times.
---@param items winnow.Item[]
---@param new winnow.Item[]
---@return winnow.Item[]
local function with_new(items, new)
  for _, item in ipairs(new) do
    local before = items[#items]
    if before and item.text == '' and before.file == item.file and before.lnum == item.lnum then
      item.text, item.text_column = before.text, before.text_column
      item.line_patterns = before.line_patterns
    end
    items[#items + 1] = item
  end
  return items
end

---@param partial table
function Search:_partial(partial)
  local spec = modes.get(self.mode)
  local new = modes.items(spec, partial, self.root)
  if not self.ranked then
    with_new(self.items, new)
  elseif partial.ranked_by.kind == 'local' then
    self.items, self.chosen_count = new, 0
  else
    self.items, self.chosen_count = with_chosen(self.items, new, self.chosen_count)
  end
  self.ranked_by = partial.ranked_by
  self._on_update(self)
end

---Copy lines and matches from earlier items, because an answer has only the names of some files.
---@param items winnow.Item[]
---@param before winnow.Item[]
local function with_lines(items, before)
  ---@type table<string, winnow.Item>
  local by_key = {}
  for _, item in ipairs(before) do
    by_key[item.key] = item
  end
  for _, item in ipairs(items) do
    local earlier = by_key[item.key]
    if earlier and item.text == '' and earlier.lnum == item.lnum then
      item.text, item.text_column = earlier.text, earlier.text_column
      item.line_patterns = earlier.line_patterns
      item.col, item.place, item.matches = earlier.col, earlier.place, earlier.matches
    end
  end
  return items
end

---@param answer? winnow.Answer
---@param problem? string
function Search:_done(answer, problem)
  self.busy = false
  self.took = vim.uv.now() - self.started
  self.answer, self.problem = answer, problem
  if answer then
    local spec = modes.get(self.mode)
    self.root = answer.root
    local items = modes.items(spec, answer, self.root)
    -- An answer does not repeat streamed items, except for a ranking, which it repeats completely.
    self.items = self.ranked and with_lines(items, self.items) or with_new(self.items, items)
    self.ranked_by = answer.ranked_by
    for rank, item in ipairs(self.items) do
      item.rank = rank
    end
  end
  self._on_update(self)
end

---@param running vim.lsp.Client
---@param params table
---@param shows_progress boolean true if the caller shows the server's progress
function Search:_send(running, params, shows_progress)
  self._cancel = client.request(running, modes.get(self.mode).method, params, {
    done = function(answer, problem)
      self:_done(answer, problem)
    end,
    partial = function(partial)
      self:_partial(partial)
    end,
    progress = shows_progress and function(value)
      self.message = value.message or self.message
      self._on_update(self)
    end or nil,
  })
end

---Send the request. First request suggested terms if a keyword search has none.
function Search:_begin(running, shows_progress)
  local spec = modes.get(self.mode)
  local request = self.request
  ---@type table<string, any>
  local params = vim.tbl_extend('force', config.current.params[self.mode], request.params or {})
  params = vim.tbl_extend('force', params, spec.params or {})
  params[spec.query] = request.query or ''
  self.ranked = modes.is_ranked(self.mode, params)
  if self.mode ~= 'keyword' then
    return self:_send(running, params, shows_progress)
  end
  params.search_terms = request.terms
  if #(request.terms or {}) > 0 then
    return self:_send(running, params, shows_progress)
  end
  self._cancel = client.request(running, '$/suggestTerms', { query = params.query }, {
    done = function(suggested, problem)
      if not suggested then
        return self:_done(nil, problem)
      elseif #suggested.terms == 0 then
        return self:_done(nil, 'the question contains no search terms')
      end
      params.search_terms = suggested.terms
      self:_send(running, params, shows_progress)
    end,
    progress = false,
  })
end

---Cancel the search. There are no more updates, and the server kills the processes it started for
---it.
function Search:cancel()
  self.cancelled = self.busy or self.cancelled
  self.busy = false
  if self._cancel then
    self._cancel()
    self._cancel = nil
  end
end

---Return true if the same search would find more later, because the index is being built.
---@return boolean
function Search:is_early()
  local index = self.answer and self.answer.completeness.index
  return index ~= nil and (index.state == 'opening' or index.state == 'building')
end

---Report to the server that an item was opened, so that later searches rank it higher.
---@param item winnow.Item
function Search:opened(item)
  local id = self.answer and self.answer.search_id
  -- The history is about files of the workspace.
  if id and item.rank and not item.repository then
    require('winnow').feedback('opened', item, id, self.folder)
  end
end

---Return the state of the search in one line: its progress, or what it found and the most important
---of what the results lack.
---@return string
function Search:summary()
  if self.problem then
    return self.problem
  elseif self.busy and self.waits_for_server then
    return 'starting the server…'
  elseif self.busy then
    local has_message = #self.items == 0 and self.message ~= ''
    local progress = has_message and self.message or ('%d so far'):format(#self.items)
    return progress:find('^Searching') and progress or 'searching… ' .. progress
  elseif not self.answer then
    return self.cancelled and ('stopped after %d'):format(#self.items) or ''
  end
  local parts = { answers.count(self.mode, self.answer, self.items) }
  parts[#parts + 1] = answers.ranked_by(self.answer)
  parts[#parts + 1] = answers.notice(self.mode, self.answer)
  return table.concat(parts, ' · ')
end

---Return everything there is to know about the answer; empty until it is complete.
---@return string[]
function Search:details()
  return self.answer and answers.details(self.mode, self.answer) or {}
end

---Return a finished search with these items, for a list that no server answers.
---@param items winnow.Item[]
---@return winnow.Search
function M.finished(items)
  return setmetatable({
    mode = modes.names[1],
    request = {},
    folder = '',
    root = '',
    items = items,
    chosen_count = 0,
    started = 0,
    took = 0,
    busy = false,
    waits_for_server = false,
    ranked = false,
    message = '',
    _on_update = function() end,
  }, Search)
end

---Start a search.
---@param mode winnow.Mode
---@param request winnow.Request
---@param options winnow.SearchOptions
---@return winnow.Search
function M.start(mode, request, options)
  modes.get(mode)
  local folder = options.folder or client.root(vim.api.nvim_get_current_buf())
  ---@type winnow.Search
  local search = setmetatable({
    mode = mode,
    request = request,
    folder = folder,
    root = vim.fs.root(folder, '.git') or folder,
    items = {},
    chosen_count = 0,
    started = vim.uv.now(),
    took = 0,
    busy = true,
    waits_for_server = false,
    ranked = false,
    message = '',
    _on_update = options.on_update,
  }, Search)
  local is_running = false
  client.with_client(folder, function(running, problem)
    is_running = true
    if not search.busy then
      return
    end
    local has_waited = search.waits_for_server
    search.waits_for_server = false
    if running then
      search:_begin(running, options.shows_progress or false)
      if has_waited then
        search._on_update(search)
      end
    else
      search:_done(nil, problem)
    end
  end)
  search.waits_for_server = not is_running
  return search
end

return M
