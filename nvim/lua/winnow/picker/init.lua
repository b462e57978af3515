-- The picker: one search, its results as they come, and what is done with them.
--
-- The prompt is either the query, which is searched for (while somebody types, if the mode is fast
-- and local, else on Enter), or a filter of the results. The cursor stays on its result whatever
-- comes: nobody opens a file that has just taken another one's place.

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

-- Between two keys of somebody who types.
local TYPING_MS = 90
-- Results are drawn so often at most; the first ones at once.
local DRAW_MS = 30

---@class winnow.Picker
---@field mode winnow.Mode
---@field request winnow.Request
---@field search? winnow.Search whose items are shown
---@field running? winnow.Search the last one that was started
---@field shown winnow.Item[] the items that the filter leaves
---@field positions table<integer, integer[]> of the filter's letters, by place in `shown`
---@field selected table<string, boolean> by the items' keys
---@field current integer the place in `shown` of the current item
---@field touched boolean whether somebody has moved or selected since the search was started
---@field filter string
---@field editing boolean whether the prompt is the query
---@field per_item integer how many lines each item has
---@field drawn integer when it was drawn last
---@field due boolean whether it is to be drawn soon
---@field windows winnow.Windows
---@field preview winnow.Preview
---@field origin_win integer the window that it was opened in
---@field origin_buf integer
---@field draw_timer uv.uv_timer_t
---@field type_timer uv.uv_timer_t
---@field group integer of autocommands
local Picker = {}
Picker.__index = Picker

---The picker that is open, and what the last one was about.
---@type winnow.Picker?
local open
---@type table?
local last

-- What is seen -----------------------------------------------------------------------------

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
  for at, item in ipairs(self.shown) do
    if item.key == key then
      return at
    end
  end
end

---Whether the cursor is to be on the best result, whatever it is: until somebody moves, while the
---local ranker still orders what is being found, which takes a moment only.
---@return boolean
function Picker:_follows_best()
  local by = self.search and self.search.ranked_by
  return not self.touched and by ~= nil and by.kind == 'local'
end

---Filter the items, and stay on the item that was current, at the same height of the window.
function Picker:_refilter()
  local before = self:item()
  if self:_follows_best() then
    self:_restart()
    before = nil
  end
  self.shown, self.positions = rows.filtered(self:_items(), self.filter)
  local found = before and self:_find(before.key)
  self.current = math.max(1, math.min(found or self.current, #self.shown))
end

function Picker:_draw()
  self.drawn, self.due = vim.uv.now(), false
  if not self.windows:is_open() then
    return
  end
  local view = self:_view()
  if self:_follows_best() then
    view = 0
  end
  self:_refilter()
  self.per_item = rows.write(self.windows.list_buf, self.shown, {
    reasons = modes.get(self.mode).reasons,
    selected = self.selected,
    positions = self.positions,
  })
  self:_show_current(view)
  self:_say()
end

---How far the current item is below the first line of the window.
---@return integer
function Picker:_view()
  return vim.api.nvim_win_call(self.windows.list, function()
    return vim.fn.line('.') - vim.fn.line('w0')
  end)
end

---The first line of the window, with the current item so far below it: never with room below the
---last item while there are others above; and where nobody has moved, with the best ones in sight.
---@param below integer
---@return integer
function Picker:_topline(below)
  local row = (self.current - 1) * self.per_item
  local height = vim.api.nvim_win_get_height(self.windows.list)
  if not self.touched and row + self.per_item <= height then
    return 1
  end
  local lowest = math.max(1, #self.shown * self.per_item - height + 1)
  return math.max(1, math.min(row + 1 - below, lowest))
end

---@param below? integer how far below the first line of the window the current item is to stand
function Picker:_show_current(below)
  local row = (self.current - 1) * self.per_item
  if #self.shown == 0 then
    rows.mark_current(self.windows.list_buf, 0, 0)
  else
    rows.mark_current(self.windows.list_buf, row, self.per_item)
    vim.api.nvim_win_set_cursor(self.windows.list, { row + 1, 0 })
    vim.api.nvim_win_call(self.windows.list, function()
      if below then
        vim.fn.winrestview({ topline = self:_topline(below) })
      end
      -- Its reason has to be seen, too.
      if vim.fn.line('w$') < row + self.per_item then
        vim.cmd('normal! ' .. vim.keycode('<C-e>'))
      end
    end)
  end
  self.preview:show(self:item())
end

---Who ranked, and what the results lack.
function Picker:_say()
  local found = self.search
  local running = self.running and self.running.busy and self.running or found
  local said = running and running:summary() or ''
  local count = vim.tbl_count(self.selected)
  if count > 0 then
    said = ('%d selected · %s'):format(count, said)
  end
  if self.filter ~= '' then
    said = ('%d pass the filter · %s'):format(#self.shown, said)
  end
  local left_out = found and table.concat(found:left_out(), ' · ') or ''
  self.windows:say(said, left_out, found ~= nil and found.problem ~= nil)
end

function Picker:_titles()
  local spec = modes.get(self.mode)
  local asked = query.format(self.request):gsub('%s+', ' ')
  self.windows:set_title('list', ('%s: %s'):format(spec.title, asked))
  local enter = spec.live and 'query' or 'query, Enter searches'
  self.windows:set_title('prompt', self.editing and enter or 'filter')
end

-- The search -------------------------------------------------------------------------------

---Draw soon: at once if nothing was drawn lately.
function Picker:_draw_soon()
  local wait = DRAW_MS - (vim.uv.now() - self.drawn)
  if wait <= 0 then
    return self:_draw()
  end
  if not self.due then
    self.due = true
    self.draw_timer:start(
      wait,
      0,
      vim.schedule_wrap(function()
        if open == self and self.due then
          self:_draw()
        end
      end)
    )
  end
end

---Go back to the first item, whatever is there.
function Picker:_restart()
  self.current, self.shown = 1, {}
end

---Search anew. While nothing new is there, what was found before stays on the screen.
---@param request winnow.Request
function Picker:_search(request)
  if self.running then
    self.running:cancel()
    self.running = nil
  end
  self.request = request
  self.selected, self.touched = {}, false
  self:_titles()
  if vim.trim(request.query or '') == '' and not modes.get(self.mode).empty then
    self.search = nil
    self:_restart()
    return self:_draw()
  end
  self.running = search.start(self.mode, request, {
    buf = self.origin_buf,
    shown = true,
    told = function(found)
      -- Where no server can be started, this is said before `start` has given the search.
      self.running = self.running or found
      if open == self and self.running == found then
        self:_news(found)
      end
    end,
  })
  if #self:_items() == 0 then
    self.search = self.running
  end
  self:_draw()
end

---@param found winnow.Search
function Picker:_news(found)
  if found.busy and #found.items == 0 and #self:_items() > 0 then
    return self:_say()
  end
  if self.search ~= found then
    self.search = found
    self:_restart()
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

---What is typed, as a request like the one before: with its params, unless others are typed.
---@return winnow.Request
function Picker:_typed_request()
  local request = query.parse(self.mode, self:_typed())
  request.params = vim.tbl_extend('force', self.request.params or {}, request.params)
  return request
end

---Something was typed: a filter, or a query that is searched for when the keys pause.
function Picker:_changed()
  local typed = self:_typed()
  if not self.editing then
    if typed ~= self.filter then
      self.filter = typed
      self:_restart()
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

---Let the prompt be the query, or a filter.
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
  self.touched = true
  if #self.shown == 0 then
    return
  end
  -- From the last to the first and back, by single steps only.
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
    self.touched = true
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
  local all = vim.iter(self.shown):all(function(item)
    return self.selected[item.key]
  end)
  for _, item in ipairs(self.shown) do
    self.selected[item.key] = not all or nil
  end
  self:_draw()
end

---The selected items in their order, else all that are shown.
---@return winnow.Item[]
function Picker:chosen()
  local selected = vim.tbl_filter(function(item)
    return self.selected[item.key]
  end, self:_items())
  return #selected > 0 and selected or self.shown
end

---Leave the picker for the window that it was opened in, and go on there in normal mode.
---@param go_on fun()
function Picker:_leave(go_on)
  place.leave_insert(function()
    self:close()
    if vim.api.nvim_win_is_valid(self.origin_win) then
      vim.api.nvim_set_current_win(self.origin_win)
    end
    go_on()
  end)
end

---@param self winnow.Picker
---@param how? 'split'|'vsplit'|'tab'
local function open_item(self, how)
  local found, item = self.search, self:item()
  if not found or not item then
    return
  end
  found:opened(item)
  history.add(self.mode, found.request)
  self:_leave(function()
    place.open(item, how)
  end)
end

---Open the item; or search, if the prompt is a query that nothing was searched for yet.
function actions.open(self)
  local asked = self.search and query.format(self.search.request) or ''
  if not self.editing or self:_typed() == asked then
    return open_item(self)
  end
  self.type_timer:stop()
  local ok, request = pcall(self._typed_request, self)
  if not ok then
    self.windows:say(tostring(request), '', true)
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
  local found, items = self.search, self:chosen()
  if not found or #items == 0 then
    return
  end
  history.add(self.mode, found.request)
  self:_leave(function()
    local list = lists.new(kind, self.origin_win)
    list:write(found, items)
    list:show()
  end)
end

function actions.quickfix(self)
  send(self, 'quickfix')
end

function actions.loclist(self)
  send(self, 'loclist')
end

---Open the document itself, in the program that the system has for it.
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
local function remember(self, by)
  local known = history.of(self.mode)
  local at = 0
  for nth, one in ipairs(known) do
    if query.format(one) == query.format(self.request) then
      at = nth
      break
    end
  end
  local one = known[at + by]
  if not one then
    return
  end
  self:_search({ query = one.query, terms = one.terms, params = one.params })
  self:_edit(self.editing)
end

function actions.older_query(self)
  remember(self, 1)
end

function actions.newer_query(self)
  remember(self, -1)
end

function actions.preview_down(self)
  self.preview:scroll(1)
end

function actions.preview_up(self)
  self.preview:scroll(-1)
end

function actions.toggle_preview(self)
  self.windows:toggle_preview()
  self.preview:again()
end

---Say all that is said of the result and of the answer, for which there may be no room.
function actions.details(self)
  local found, item = self.search, self:item()
  if not found then
    return
  end
  local said = vim.list_extend({ found:summary() }, found:left_out())
  if item then
    table.insert(said, 1, ('%s:%d: %s'):format(item.path, item.lnum, item.reason))
  end
  vim.api.nvim_echo({ { table.concat(said, '\n') } }, true, {})
end

---End the search if one is running, else the picker.
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

-- Its life ---------------------------------------------------------------------------------

function Picker:_map_keys()
  for name, act in pairs(actions) do
    for _, key in ipairs(config.current.keys[name] or {}) do
      vim.keymap.set({ 'i', 'n' }, key, function()
        act(self)
      end, { buffer = self.windows.prompt_buf, nowait = true, desc = 'Winnow: ' .. name })
    end
  end
end

function Picker:_watch()
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
      self.preview:again()
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

---End the search and close the windows; `:Winnow resume` brings all of it back.
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
    touched = false,
    per_item = 1,
    drawn = 0,
    due = false,
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
  self:_watch()
  open = self
  vim.cmd.startinsert({ bang = true })
  return self
end

---Open the picker: with a query on its results, else on a prompt for one.
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
    -- The server starts while somebody types. What is wrong with it, the search says.
    client.with(client.root(self.origin_buf), function() end)
  end
  return self
end

---A model may now be asked for a folder: what none has ranked there is to be searched for again.
---@param folder string
function M.allowed(folder)
  local before = last
  ---@type winnow.Search?
  local found = before and before.search
  if before and found and found.mode == 'keyword' and found.folder == folder then
    before.again = not (found.ranked_by and found.ranked_by.kind == 'llm')
  end
end

---Open the last picker as it was left: its results, filter, selection and place. Of a search that
---was stopped it has what had been found; it is made again where a model may now be asked.
---@return winnow.Picker?
function M.resume()
  if not last then
    vim.notify('winnow: nothing to resume', vim.log.levels.WARN)
    return nil
  end
  local before = last
  local self = new(before.mode, before.request)
  for _, name in ipairs({ 'search', 'filter', 'editing', 'selected', 'current' }) do
    self[name] = before[name]
  end
  self.touched = true
  self:_titles()
  self:_set_typed(self.editing and query.format(self.request) or self.filter)
  self.shown, self.positions = rows.filtered(self:_items(), self.filter)
  self:_draw()
  if before.again and before.search.folder == client.root(self.origin_buf) then
    self:_search(self.request)
  end
  return self
end

---The picker that is open.
---@return winnow.Picker?
function M.get()
  return open
end

return M
