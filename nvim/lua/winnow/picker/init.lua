-- The picker: a search, its results as they arrive, and actions on them.
--
-- The prompt is either the query or a filter of the results. Fast and local modes search as the
-- user types, the others on Enter. The cursor stays on its result when the order changes, so the
-- user never opens a file that has just replaced another one.

local client = require('winnow.client')
local config = require('winnow.config')
local history = require('winnow.history')
local lists = require('winnow.lists')
local modes = require('winnow.modes')
local place = require('winnow.place')
local query = require('winnow.query')
local rows = require('winnow.picker.rows')
local search = require('winnow.search')
local windows = require('winnow.picker.windows')

local M = {}

-- Delay after typing before a live search starts.
local TYPING_MS = 90
-- Minimum interval between draws of the results. The first draw is immediate.
local DRAW_MS = 30

---@class winnow.Picker
---@field mode winnow.Mode
---@field request winnow.Request
---@field search? winnow.Search the search whose items are shown
---@field running? winnow.Search the search started last
---@field shown winnow.Item[] the items that match the filter
---@field positions table<integer, integer[]> matches of the filter's letters, by index in `shown`
---@field selected table<string, boolean> by the items' keys
---@field current integer the index in `shown` of the current item
---@field has_moved boolean true if the user moved or selected since the search started
---@field filter string
---@field editing boolean true if the prompt is the query
---@field per_item integer number of lines of each item
---@field drawn_at integer time of the last draw
---@field draw_pending boolean true if a draw is scheduled
---@field windows winnow.Windows
---@field preview winnow.Preview
---@field origin_win integer the window that was current before
---@field origin_buf integer
---@field draw_timer uv.uv_timer_t
---@field type_timer uv.uv_timer_t
---@field group integer the group of its autocommands
local Picker = {}
Picker.__index = Picker

---The open picker, and the state of the last closed one.
---@type winnow.Picker?
local open
---@type table?
local last

-- Drawing ----------------------------------------------------------------------------------

---@return winnow.Item?
function Picker:item()
  return self.shown[self.current]
end

---@return winnow.Item[]
function Picker:_items()
  return self.search and self.search.items or {}
end

---@param key string
---@return integer?
function Picker:_find(key)
  for index, item in ipairs(self.shown) do
    if item.key == key then
      return index
    end
  end
end

---Return true if the cursor follows the best result: until the user moves, while the local ranker
---orders partial results, which takes only a moment.
---@return boolean
function Picker:_follows_best()
  local by = self.search and self.search.ranked_by
  return not self.has_moved and by ~= nil and by.kind == 'local'
end

---Filter the items and keep the current item.
function Picker:_refilter()
  local before = self:item()
  if self:_follows_best() then
    self:_reset_cursor()
    before = nil
  end
  self.shown, self.positions = rows.filtered(self:_items(), self.filter)
  local found = before and self:_find(before.key)
  self.current = math.max(1, math.min(found or self.current, #self.shown))
end

function Picker:_draw()
  self.drawn_at, self.draw_pending = vim.uv.now(), false
  if not self.windows:is_open() then
    return
  end
  local offset = self:_cursor_offset()
  if self:_follows_best() then
    offset = 0
  end
  self:_refilter()
  self.per_item = rows.write(self.windows.list_buf, self.shown, {
    reasons = modes.get(self.mode).reasons,
    selected = self.selected,
    positions = self.positions,
  })
  self:_show_current(offset)
  self:_show_summary()
end

---Return the number of lines between the top of the window and the current item.
---@return integer
function Picker:_cursor_offset()
  return vim.api.nvim_win_call(self.windows.list, function()
    return vim.fn.line('.') - vim.fn.line('w0')
  end)
end

---Return the first line to show so that the current item keeps its offset. There is no empty space
---below the last item if the list can scroll. Until the user moves, the best items stay visible.
---@param offset integer
---@return integer
function Picker:_topline(offset)
  local row = (self.current - 1) * self.per_item
  local height = vim.api.nvim_win_get_height(self.windows.list)
  if not self.has_moved and row + self.per_item <= height then
    return 1
  end
  local lowest = math.max(1, #self.shown * self.per_item - height + 1)
  return math.max(1, math.min(row + 1 - offset, lowest))
end

---@param offset? integer number of lines to keep between the top of the window and the current item
function Picker:_show_current(offset)
  local row = (self.current - 1) * self.per_item
  if #self.shown == 0 then
    rows.mark_current(self.windows.list_buf, 0, 0)
  else
    rows.mark_current(self.windows.list_buf, row, self.per_item)
    vim.api.nvim_win_set_cursor(self.windows.list, { row + 1, 0 })
    vim.api.nvim_win_call(self.windows.list, function()
      if offset then
        vim.fn.winrestview({ topline = self:_topline(offset) })
      end
      -- The item's reason must be visible too.
      if vim.fn.line('w$') < row + self.per_item then
        vim.cmd('normal! ' .. vim.keycode('<C-e>'))
      end
    end)
  end
  self.preview:show(self:item())
end

---Show the ranker, the counts and what the results lack.
function Picker:_show_summary()
  local shown = self.search
  local active = self.running and self.running.busy and self.running or shown
  local summary = active and active:summary() or ''
  local count = vim.tbl_count(self.selected)
  if count > 0 then
    summary = ('%d selected · %s'):format(count, summary)
  end
  if self.filter ~= '' then
    summary = ('%d match the filter · %s'):format(#self.shown, summary)
  end
  local left_out = shown and table.concat(shown:left_out(), ' · ') or ''
  self.windows:set_summary(summary, left_out, shown ~= nil and shown.problem ~= nil)
end

function Picker:_titles()
  local spec = modes.get(self.mode)
  local text = query.format(self.request):gsub('%s+', ' ')
  self.windows:set_title('list', ('%s: %s'):format(spec.title, text))
  local query_title = spec.live and 'query' or 'query, Enter searches'
  self.windows:set_title('prompt', self.editing and query_title or 'filter')
end

-- The search -------------------------------------------------------------------------------

---Draw now, or schedule a draw if the last one was recent.
function Picker:_draw_soon()
  local wait = DRAW_MS - (vim.uv.now() - self.drawn_at)
  if wait <= 0 then
    return self:_draw()
  end
  if not self.draw_pending then
    self.draw_pending = true
    self.draw_timer:start(
      wait,
      0,
      vim.schedule_wrap(function()
        if open == self and self.draw_pending then
          self:_draw()
        end
      end)
    )
  end
end

---Reset the cursor to the first item.
function Picker:_reset_cursor()
  self.current, self.shown = 1, {}
end

---Start a new search. The previous results stay on the screen until the first new ones arrive.
---@param request winnow.Request
function Picker:_search(request)
  if self.running then
    self.running:cancel()
    self.running = nil
  end
  self.request = request
  self.selected, self.has_moved = {}, false
  self:_titles()
  if vim.trim(request.query or '') == '' and not modes.get(self.mode).empty then
    self.search = nil
    self:_reset_cursor()
    return self:_draw()
  end
  self.running = search.start(self.mode, request, {
    buf = self.origin_buf,
    shows_progress = true,
    on_update = function(updated)
      -- If the server can't be started, this runs before `start` returns the search.
      self.running = self.running or updated
      if open == self and self.running == updated then
        self:_on_update(updated)
      end
    end,
  })
  if #self:_items() == 0 then
    self.search = self.running
  end
  self:_draw()
end

---@param updated winnow.Search
function Picker:_on_update(updated)
  if updated.busy and #updated.items == 0 and #self:_items() > 0 then
    return self:_show_summary()
  end
  if self.search ~= updated then
    self.search = updated
    self:_reset_cursor()
  end
  self:_draw_soon()
end

-- The prompt -------------------------------------------------------------------------------

---@return string
function Picker:_typed()
  local line = vim.api.nvim_buf_get_lines(self.windows.prompt_buf, -2, -1, false)[1] or ''
  return vim.startswith(line, windows.PROMPT) and line:sub(#windows.PROMPT + 1) or line
end

---@param text string
function Picker:_set_typed(text)
  local line = windows.PROMPT .. (text:gsub('\n', ' '))
  vim.api.nvim_buf_set_lines(self.windows.prompt_buf, -2, -1, false, { line })
  vim.api.nvim_win_set_cursor(self.windows.prompt, {
    vim.api.nvim_buf_line_count(self.windows.prompt_buf),
    #line,
  })
end

---Parse the typed request. It keeps the params of the previous request unless they are typed again.
---@return winnow.Request
function Picker:_typed_request()
  local request = query.parse(self.mode, self:_typed())
  request.params = vim.tbl_extend('force', self.request.params or {}, request.params)
  return request
end

---Handle typed text: filter the results, or schedule a live search.
function Picker:_changed()
  local typed = self:_typed()
  if not self.editing then
    if typed ~= self.filter then
      self.filter = typed
      self:_reset_cursor()
      self:_draw()
    end
    return
  end
  if typed == query.format(self.request) or not modes.get(self.mode).live then
    return
  end
  self.type_timer:start(
    TYPING_MS,
    0,
    vim.schedule_wrap(function()
      local ok, request = pcall(self._typed_request, self)
      if open == self and self.editing and ok then
        self:_search(request)
      end
    end)
  )
end

---Switch the prompt between query and filter.
---@param editing boolean
function Picker:_edit(editing)
  self.editing = editing
  self.filter = ''
  self:_set_typed(editing and query.format(self.request) or '')
  self:_titles()
  self:_draw()
end

-- Actions ----------------------------------------------------------------------------------

---@type table<string, fun(self: winnow.Picker)>
local actions = {}

---@param by integer
function Picker:_move(by)
  self.has_moved = true
  if #self.shown == 0 then
    return
  end
  -- Only single steps wrap around.
  local to = self.current + by
  if math.abs(by) == 1 then
    to = (to - 1) % #self.shown + 1
  end
  self.current = math.max(1, math.min(to, #self.shown))
  self:_show_current()
end

function actions.next(self)
  self:_move(1)
end

function actions.previous(self)
  self:_move(-1)
end

---@param self winnow.Picker
---@return integer
local function page(self)
  return math.max(1, math.floor(vim.api.nvim_win_get_height(self.windows.list) / self.per_item) - 1)
end

function actions.page_down(self)
  self:_move(math.max(2, page(self)))
end

function actions.page_up(self)
  self:_move(-math.max(2, page(self)))
end

---@param self winnow.Picker
---@param by integer
local function select_and_move(self, by)
  local item = self:item()
  if item then
    self.has_moved = true
    self.selected[item.key] = not self.selected[item.key] or nil
    self:_draw()
    self:_move(by)
  end
end

function actions.select_next(self)
  select_and_move(self, 1)
end

function actions.select_previous(self)
  select_and_move(self, -1)
end

function actions.select_all(self)
  local all_selected = vim.iter(self.shown):all(function(item)
    return self.selected[item.key]
  end)
  for _, item in ipairs(self.shown) do
    self.selected[item.key] = not all_selected or nil
  end
  self:_draw()
end

---Return the selected items in their order, or all items shown if none is selected.
---@return winnow.Item[]
function Picker:selected_or_all()
  local selected = vim.tbl_filter(function(item)
    return self.selected[item.key]
  end, self:_items())
  return #selected > 0 and selected or self.shown
end

---Close the picker, return to the original window in normal mode, and call back.
---@param callback fun()
function Picker:_leave(callback)
  place.leave_insert(function()
    self:close()
    if vim.api.nvim_win_is_valid(self.origin_win) then
      vim.api.nvim_set_current_win(self.origin_win)
    end
    callback()
  end)
end

---@param self winnow.Picker
---@param how? 'split'|'vsplit'|'tab'
local function open_item(self, how)
  local shown, item = self.search, self:item()
  if not shown or not item then
    return
  end
  shown:opened(item)
  history.add(self.mode, shown.request)
  self:_leave(function()
    place.open(item, how)
  end)
end

---Open the item, or search if the prompt has a new query.
function actions.open(self)
  local searched = self.search and query.format(self.search.request) or ''
  if not self.editing or self:_typed() == searched then
    return open_item(self)
  end
  self.type_timer:stop()
  local ok, request = pcall(self._typed_request, self)
  if not ok then
    self.windows:set_summary(tostring(request), '', true)
    return
  end
  self:_search(request)
  history.add(self.mode, request)
  if not modes.get(self.mode).live then
    self:_edit(false)
  end
end

function actions.split(self)
  open_item(self, 'split')
end

function actions.vsplit(self)
  open_item(self, 'vsplit')
end

function actions.tab(self)
  open_item(self, 'tab')
end

---@param self winnow.Picker
---@param kind winnow.ListKind
local function send(self, kind)
  local shown, items = self.search, self:selected_or_all()
  if not shown or #items == 0 then
    return
  end
  history.add(self.mode, shown.request)
  self:_leave(function()
    local list = lists.new(kind, self.origin_win)
    list:write(shown, items)
    list:show()
  end)
end

function actions.quickfix(self)
  send(self, 'quickfix')
end

function actions.loclist(self)
  send(self, 'loclist')
end

---Open the original document in the system's default program.
function actions.open_document(self)
  local item = self:item()
  if item and item.open_uri then
    vim.ui.open(item.open_uri)
  end
end

function actions.edit_query(self)
  self:_edit(not self.editing)
end

---@param self winnow.Picker
---@param by integer
local function step_history(self, by)
  local entries = history.of_mode(self.mode)
  local current = 0
  for index, entry in ipairs(entries) do
    if query.format(entry) == query.format(self.request) then
      current = index
      break
    end
  end
  local entry = entries[current + by]
  if not entry then
    return
  end
  self:_search({ query = entry.query, terms = entry.terms, params = entry.params })
  self:_edit(self.editing)
end

function actions.older_query(self)
  step_history(self, 1)
end

function actions.newer_query(self)
  step_history(self, -1)
end

function actions.preview_down(self)
  self.preview:scroll(1)
end

function actions.preview_up(self)
  self.preview:scroll(-1)
end

function actions.toggle_preview(self)
  self.windows:toggle_preview()
  self.preview:refresh()
end

---Show the details of the result and the answer, for which the windows may be too small.
function actions.details(self)
  local shown, item = self.search, self:item()
  if not shown then
    return
  end
  local lines = vim.list_extend({ shown:summary() }, shown:left_out())
  if item then
    table.insert(lines, 1, ('%s:%d: %s'):format(item.path, item.lnum, item.reason))
  end
  vim.api.nvim_echo({ { table.concat(lines, '\n') } }, true, {})
end

---Cancel the running search, or close the picker if there is none.
function actions.stop(self)
  local running = self.running
  if not (running and running.busy) then
    return actions.close(self)
  end
  running:cancel()
  self.search = running
  self:_draw()
end

function actions.close(self)
  self:_leave(function() end)
end

M.actions = vim.tbl_keys(actions)

-- Opening and closing ----------------------------------------------------------------------

function Picker:_map_keys()
  for name, action in pairs(actions) do
    for _, key in ipairs(config.current.keys[name] or {}) do
      vim.keymap.set({ 'i', 'n' }, key, function()
        action(self)
      end, { buffer = self.windows.prompt_buf, nowait = true, desc = 'Winnow: ' .. name })
    end
  end
end

function Picker:_create_autocmds()
  self.group = vim.api.nvim_create_augroup('winnow-picker', {})
  local function on(events, options)
    options.group = self.group
    vim.api.nvim_create_autocmd(events, options)
  end
  on({ 'TextChanged', 'TextChangedI' }, {
    buffer = self.windows.prompt_buf,
    callback = function()
      self:_changed()
    end,
  })
  on('VimResized', {
    callback = function()
      self.windows:resize()
      self:_draw()
      self.preview:refresh()
    end,
  })
  on('WinClosed', {
    callback = function(event)
      if
        self.windows:has(tonumber(event.match) --[[@as integer]])
      then
        vim.schedule(function()
          if open == self and not self.windows:is_open() then
            self:close()
          end
        end)
      end
    end,
  })
  on('WinEnter', {
    callback = vim.schedule_wrap(function()
      if open == self and not self.windows:has(vim.api.nvim_get_current_win()) then
        self:close()
      end
    end),
  })
end

---Cancel the search and close the windows. `:Winnow resume` restores them.
function Picker:close()
  if open ~= self then
    return
  end
  open = nil
  if self.running then
    self.running:cancel()
  end
  last = {
    mode = self.mode,
    request = self.request,
    search = self.search,
    filter = self.filter,
    editing = self.editing,
    selected = self.selected,
    current = self.current,
  }
  vim.api.nvim_del_augroup_by_id(self.group)
  self.draw_timer:close()
  self.type_timer:close()
  self.preview:close()
  self.windows:close()
end

---@param mode winnow.Mode
---@param request winnow.Request
---@return winnow.Picker
local function new(mode, request)
  if open then
    open:close()
  end
  local self = setmetatable({
    mode = mode,
    request = request,
    shown = {},
    positions = {},
    current = 1,
    filter = '',
    editing = false,
    selected = {},
    has_moved = false,
    per_item = 1,
    drawn_at = 0,
    draw_pending = false,
    origin_win = vim.api.nvim_get_current_win(),
    origin_buf = vim.api.nvim_get_current_buf(),
    draw_timer = assert(vim.uv.new_timer()),
    type_timer = assert(vim.uv.new_timer()),
  }, Picker)
  self.windows = windows.open()
  local folder = client.root(self.origin_buf)
  self.preview = require('winnow.picker.preview').new(self.windows, folder)
  vim.b[self.windows.prompt_buf].completion = false
  self:_map_keys()
  self:_create_autocmds()
  open = self
  vim.cmd.startinsert({ bang = true })
  return self
end

---Open the picker with the results of the query, or with a prompt for one.
---@param mode winnow.Mode
---@param request winnow.Request
---@return winnow.Picker
function M.open(mode, request)
  modes.get(mode)
  local self = new(mode, request)
  local has_query = vim.trim(request.query or '') ~= ''
  self.editing = not has_query
  self:_search(request)
  if has_query then
    history.add(mode, request)
  else
    -- Start the server while the user types. The search reports problems.
    client.with_client(client.root(self.origin_buf), function() end)
  end
  return self
end

---After consent for a folder, let `resume` repeat a search there that no model has ranked.
---@param folder string
function M.on_consent(folder)
  local state = last
  ---@type winnow.Search?
  local previous = state and state.search
  if state and previous and previous.mode == 'keyword' and previous.folder == folder then
    state.search_again = not (previous.ranked_by and previous.ranked_by.kind == 'llm')
  end
end

---Reopen the last picker with its results, filter, selection and cursor. A canceled search shows
---the results so far. If the user has consented to a model since, search again.
---@return winnow.Picker?
function M.resume()
  if not last then
    vim.notify('winnow: nothing to resume', vim.log.levels.WARN)
    return nil
  end
  local state = last
  local self = new(state.mode, state.request)
  for _, name in ipairs({ 'search', 'filter', 'editing', 'selected', 'current' }) do
    self[name] = state[name]
  end
  self.has_moved = true
  self:_titles()
  self:_set_typed(self.editing and query.format(self.request) or self.filter)
  self.shown, self.positions = rows.filtered(self:_items(), self.filter)
  self:_draw()
  if state.search_again and state.search.folder == client.root(self.origin_buf) then
    self:_search(self.request)
  end
  return self
end

---Return the open picker, if any.
---@return winnow.Picker?
function M.get()
  return open
end

return M
