-- One search: its request, the items so far, and what the answer says when it is there.
--
-- Every door (picker, lists, adapters, Lua) starts one and is told when something is new.

local answers = require('winnow.answer')
local client = require('winnow.client')
local config = require('winnow.config')
local modes = require('winnow.modes')

---@class winnow.Search
---@field mode winnow.Mode
---@field request winnow.Request
---@field folder string the folder of the project
---@field root string what paths of items are relative to
---@field items winnow.Item[] ordered as they are to be shown
---@field answer? winnow.Answer when it is there
---@field ranked_by? winnow.RankedBy who has put the items in order, so far
---@field problem? string why there is no answer
---@field busy boolean
---@field message string what the server is doing
---@field private named integer how many of the items a model has named
---@field cancelled? boolean
---@field private _cancel? fun()
---@field private _told fun(search: winnow.Search)
local Search = {}
Search.__index = Search

local M = {}

---The items so far of a model, above those of the local ranker that it has not named.
---@param items winnow.Item[]
---@param new winnow.Item[]
---@param named integer how many of `items` the model has named
---@return winnow.Item[] items
---@return integer named
local function with_named(items, new, named)
  local joined, seen = {}, {}
  local function add(some)
    for _, item in ipairs(some) do
      if not seen[item.key] then
        seen[item.key] = true
        joined[#joined + 1] = item
      end
    end
  end
  add(vim.list_slice(items, 1, named))
  add(new)
  local total = #joined
  add(items)
  return joined, total
end

---@param partial table
function Search:_partial(partial)
  local spec = modes.get(self.mode)
  local new = modes.items(spec, partial, self.root)
  if not spec.ranked then
    vim.list_extend(self.items, new)
  elseif partial.ranked_by.kind == 'local' then
    self.items, self.named = new, 0
  else
    self.items, self.named = with_named(self.items, new, self.named)
  end
  self.ranked_by = partial.ranked_by
  self._told(self)
end

---Give items without a line what was said of them before: an answer names some files only.
---@param items winnow.Item[]
---@param before winnow.Item[]
local function with_lines(items, before)
  ---@type table<string, winnow.Item>
  local known = {}
  for _, item in ipairs(before) do
    known[item.key] = item
  end
  for _, item in ipairs(items) do
    local earlier = known[item.key]
    if earlier and item.text == '' and earlier.lnum == item.lnum then
      item.text, item.text_column = earlier.text, earlier.text_column
      item.col, item.place, item.matches = earlier.col, earlier.place, earlier.matches
    end
  end
  return items
end

---@param answer? winnow.Answer
---@param problem? string
function Search:_done(answer, problem)
  self.busy = false
  self.answer, self.problem = answer, problem
  if answer then
    local spec = modes.get(self.mode)
    self.root = answer.root
    local items = modes.items(spec, answer, self.root)
    -- What was streamed is not in the answer again, but for a ranking, which is there as a whole.
    self.items = spec.ranked and with_lines(items, self.items) or vim.list_extend(self.items, items)
    self.ranked_by = answer.ranked_by
    for place, item in ipairs(self.items) do
      item.rank = place
    end
  end
  self._told(self)
end

---@param running vim.lsp.Client
---@param params table
---@param shown boolean whether whoever listens shows what the server is doing
function Search:_send(running, params, shown)
  self._cancel = client.request(running, modes.get(self.mode).method, params, {
    done = function(answer, problem)
      self:_done(answer, problem)
    end,
    partial = function(partial)
      self:_partial(partial)
    end,
    progress = shown and function(value)
      self.message = value.message or self.message
      self._told(self)
    end or nil,
  })
end

---Send the request, with terms of the question's words if a keyword search has none.
function Search:_begin(running, shown)
  local spec = modes.get(self.mode)
  local request = self.request
  ---@type table<string, any>
  local params = vim.tbl_extend('force', config.current.params[self.mode], request.params or {})
  params[spec.query] = request.query or ''
  if self.mode ~= 'keyword' then
    return self:_send(running, params, shown)
  end
  params.search_terms = request.terms
  if #(request.terms or {}) > 0 then
    return self:_send(running, params, shown)
  end
  self._cancel = client.request(running, '$/suggestTerms', { query = params.query }, {
    done = function(suggested, problem)
      if not suggested then
        return self:_done(nil, problem)
      elseif #suggested.terms == 0 then
        return self:_done(nil, 'the question contains no search terms')
      end
      params.search_terms = suggested.terms
      self:_send(running, params, shown)
    end,
    progress = false,
  })
end

---End it at once; the server ends what it runs for it. Nothing is told any more.
function Search:cancel()
  self.cancelled = self.busy or self.cancelled
  self.busy = false
  if self._cancel then
    self._cancel()
    self._cancel = nil
  end
end

---Tell the server that an item was opened: later searches rank it higher.
---@param item winnow.Item
function Search:opened(item)
  local id = self.answer and self.answer.search_id
  if id and item.rank then
    require('winnow').feedback('opened', item, id, self.folder)
  end
end

---"20 of 134 · ranked by …", or what is going on.
---@return string
function Search:summary()
  if self.problem then
    return self.problem
  elseif self.busy then
    return ('searching … %d so far. %s'):format(#self.items, self.message)
  elseif self.answer then
    local by = answers.ranked_by(self.answer)
    local count = answers.count(self.answer, #self.items)
    return by and ('%s · %s'):format(count, by) or count
  end
  return self.cancelled and ('stopped after %d'):format(#self.items) or ''
end

---What the results lack, a sentence each; empty while it is not known.
---@return string[]
function Search:left_out()
  return self.answer and answers.left_out(self.answer) or {}
end

---Start a search.
---@param mode winnow.Mode
---@param request winnow.Request
---@param options { told: fun(search: winnow.Search), buf?: integer, shown?: boolean }
---  `told` hears of everything new, `buf` says which project, `shown`: the caller shows progress
---@return winnow.Search
function M.start(mode, request, options)
  modes.get(mode)
  local folder = client.root(options.buf or vim.api.nvim_get_current_buf())
  ---@type winnow.Search
  local search = setmetatable({
    mode = mode,
    request = request,
    folder = folder,
    root = vim.fs.root(folder, '.git') or folder,
    items = {},
    named = 0,
    busy = true,
    message = '',
    _told = options.told,
  }, Search)
  client.with(folder, function(running, problem)
    if not search.busy then
      return
    end
    if running then
      search:_begin(running, options.shown or false)
    else
      search:_done(nil, problem)
    end
  end)
  return search
end

return M
