-- The picker: a search, its results as they arrive, and the windows that show them.
--
-- The prompt is either the query or a filter of the results. Fast and local modes search as the
-- user types, the others on Enter. The cursor stays on its result when the order changes, so the
-- user never opens a file that has just replaced another one.
--
-- A search owns the list of its results, which grows at any time. The picker draws a copy, and
-- everything that moves in the list uses this copy, which is what the screen shows.

local actions = require('winnow.picker.actions')
local client = require('winnow.client')
local config = require('winnow.config')
local history = require('winnow.history')
local modes = require('winnow.modes')
local place = require('winnow.place')
local query = require('winnow.query')
local rows = require('winnow.picker.rows')
local search = require('winnow.search')
local windows = require('winnow.picker.windows')

local M = {}

-- Delay after typing before a live search starts.
local TYPING_MS = 50
-- Minimum interval between draws of the results. The first draw of a search is immediate.
local DRAW_MS = 30
-- Minimum interval between repetitions of a search while the index is being built, and their
-- maximum share of the time.
local REPEAT_MS, REPEAT_SHARE = 2000, 0.1
local DEFAULT_TEXT = vim.api.nvim_create_namespace('winnow-default')

-- Words that are frequent in every file, so that highlighting them shows nothing.
local FREQUENT = {}
for word in
  ('and are does for from has how that the this was what when where which who why with'):gmatch(
    '%S+'
  )
do
  FREQUENT[word] = true
end

---@class winnow.Picker
---@field mode winnow.Mode
---@field request winnow.Request
---@field folder string the project's folder
---@field search? winnow.Search the search whose items are shown
---@field running? winnow.Search the search started last
---@field shown winnow.Item[] the items on the screen: those that match the filter
---@field selected table<string, boolean> by the items' keys
---@field current integer the index in `shown` of the current item
---@field has_moved boolean true if the user moved or selected since the search started
---@field filter string
---@field editing boolean true if the prompt is the query
---@field default? string the query while the prompt is empty
---@field searched? string the text in the prompt that stands for the request
---@field problem? string why the typed query is not searched for
---@field notice? string a message to show until the next key
---@field opens? winnow.How how to open the first result when it arrives
---@field choose? fun(item: winnow.Item) called instead of opening an item
---@field title? string of a list that is no search
---@field per_item integer number of lines of each item
---@field drawn_at integer time of the last draw
---@field draw_pending boolean true if a draw is scheduled
---@field windows winnow.Windows
---@field preview winnow.Preview
---@field origin_win integer the window that was current before
---@field draw_timer uv.uv_timer_t
---@field typed_at number when the typed query was last searched for, in milliseconds
---@field type_timer uv.uv_timer_t
---@field repeated? winnow.Search the search that repeats the one that is shown
---@field repeat_timer uv.uv_timer_t
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
function Picker:items()
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
  self.shown = rows.filtered(self:items(), self.filter)
  local found = before and self:_find(before.key)
  self.current = math.max(1, math.min(found or self.current, #self.shown))
end

---Return the words of the query that are worth a highlight.
---@return string[]
function Picker:_words()
  local words = {}
  local text = self.search and self.search.request and self.search.request.query or ''
  for word in text:gmatch('[%w_\128-\255]+') do
    if #word > 2 and not FREQUENT[word:lower()] then
      words[#words + 1] = (word:lower() == word and #word > 4 and word:gsub('s$', '') or word)
    end
  end
  return words
end

---Return what to show instead of results, and its highlight group.
---@return string[]
---@return string
function Picker:_message()
  local shown = self.search
  if self.problem then
    return { self.problem }, 'WinnowProblem'
  elseif not shown and self.editing then
    return { 'Type a query. ' .. config.key_hint() }, 'WinnowSummary'
  elseif not shown or shown.busy then
    return {}, 'WinnowSummary'
  elseif shown.problem then
    return { shown.problem }, 'WinnowProblem'
  elseif self.filter ~= '' then
    return {}, 'WinnowSummary'
  end
  local nothing = shown.cancelled and 'Stopped before anything was found' or 'No results'
  return vim.list_extend({ nothing }, shown:details()), 'WinnowSummary'
end

function Picker:draw()
  self.drawn_at, self.draw_pending = vim.uv.now(), false
  if not self.windows:is_open() then
    return
  end
  local offset = self:_follows_best() and 0 or self:_cursor_offset()
  self:_refilter()
  local width = vim.api.nvim_win_get_width(self.windows.list)
  if #self.shown == 0 then
    local paragraphs, group = self:_message()
    rows.write_message(self.windows.list_buf, paragraphs, width, group)
    self.preview:show(nil)
  else
    self.per_item = rows.write(self.windows.list_buf, self.shown, {
      width = width,
      reasons = modes.get(self.mode).reasons and config.current.reasons or 'none',
      words = self:_words(),
      filter = rows.words(self.filter),
      selected = self.selected,
    })
    self:_show_current(offset)
  end
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
  vim.api.nvim_win_set_cursor(self.windows.list, { row + 1, 0 })
  vim.api.nvim_win_call(self.windows.list, function()
    if offset then
      vim.fn.winrestview({ topline = self:_topline(offset) })
    end
    -- The second line of the item must be visible too.
    if self.per_item > 1 and vim.fn.line('w$') < row + self.per_item then
      vim.cmd('normal! ' .. vim.keycode('<C-e>'))
    end
  end)
  self:_show_rows()
  self.preview:show(self:item())
end

---Write the rows that are visible, and highlight the current one.
function Picker:_show_rows()
  local list, buf = self.windows.list, self.windows.list_buf
  rows.show(buf, vim.fn.line('w0', list), vim.fn.line('w$', list))
  if #self.shown > 0 then
    rows.mark_current(buf, (self.current - 1) * self.per_item, self.per_item)
  end
end

---Show the state of the search in a line, and the position in the results.
function Picker:_show_summary()
  local running = self.running
  local is_news = running ~= nil and (running.busy or running.problem ~= nil)
  local active = is_news and running or self.search
  -- A query that is being typed is often incomplete.
  local failed = self.problem ~= nil or (active == self.search and active and active.problem ~= nil)
  local parts = { self.notice or self.problem or (active and active:summary() or nil) }
  if self.filter ~= '' then
    table.insert(parts, 1, ('%d match the filter'):format(#self.shown))
  end
  local count = vim.tbl_count(self.selected)
  if count > 0 then
    table.insert(parts, 1, ('%d selected'):format(count))
  end
  local position = #self.shown > 0 and ('%d/%d'):format(self.current, #self.shown) or ''
  local group = failed and 'WinnowProblem' or 'WinnowSummary'
  self.windows:set_footer('list', table.concat(parts, ' · '), group, position)
end

---Show a message instead of the state of the search.
---@param text string
function Picker:tell(text)
  self.notice = text
  self:_show_summary()
end

---Return what limits the search: files, and whether it includes ignored and hidden ones.
---@return string
function Picker:_limits()
  local params, parts = self.request.params or {}, {}
  if self.request.files then
    parts[#parts + 1] = ('in %d files'):format(self.request.files)
  end
  for name, text in pairs({ include_ignored = 'ignored too', include_hidden = 'hidden too' }) do
    if params[name] then
      parts[#parts + 1] = text
    end
  end
  table.sort(parts)
  return table.concat(parts, ', ')
end

---Show the modes above the prompt, with the current one highlighted, and the query above the list.
function Picker:titles()
  if self.title then
    self.windows:set_title('prompt', 'filter')
    return self.windows:set_title('list', self.title)
  end
  local limits = self:_limits()
  local chunks = {} ---@type winnow.Chunk[]
  for _, name in ipairs(self.editing and modes.names or {}) do
    local is_current = name == self.mode
    local group = is_current and 'WinnowMode' or 'WinnowSummary'
    chunks[#chunks + 1] = { is_current and ('[%s]'):format(name) or tostring(name), group }
    chunks[#chunks + 1] = { ' ' }
  end
  self.windows:set_title('prompt', #chunks > 0 and chunks or 'filter')
  local text = query.format(self.request):gsub('%s+', ' ')
  local title = modes.get(self.mode).title .. (limits ~= '' and (' (%s)'):format(limits) or '')
  self.windows:set_title('list', text ~= '' and ('%s: %s'):format(title, text) or title)
end

-- The search -------------------------------------------------------------------------------

---Draw now if these are the first results, or schedule a draw if the last one was recent.
function Picker:_draw_soon()
  local wait = DRAW_MS - (vim.uv.now() - self.drawn_at)
  local are_first = #self.shown == 0 and #self:items() > 0 and self.filter == ''
  if wait <= 0 or are_first then
    return self:draw()
  end
  if not self.draw_pending then
    self.draw_pending = true
    self.draw_timer:start(
      wait,
      0,
      vim.schedule_wrap(function()
        if open == self and self.draw_pending then
          self:draw()
          self:_open_if_wanted()
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
function Picker:start(request)
  if self.running then
    self.running:cancel()
    self.running = nil
  end
  self:_stop_repeating()
  self.type_timer:stop()
  self.request = request
  self.selected, self.has_moved, self.problem, self.searched = {}, false, nil, nil
  self:titles()
  if vim.trim(request.query or '') == '' and not modes.get(self.mode).empty then
    self.search = nil
    self:_reset_cursor()
    return self:draw()
  end
  self.running = search.start(self.mode, request, {
    folder = self.folder,
    shows_progress = true,
    on_update = function(updated)
      -- If the server can't be started, this runs before `start` returns the search.
      self.running = self.running or updated
      if open == self and self.running == updated then
        self:_on_update(updated)
      end
    end,
  })
  if #self:items() == 0 then
    self.search = self.running
  end
  self:draw()
end

---@param updated winnow.Search
function Picker:_on_update(updated)
  local has_nothing_to_show = #updated.items == 0 and (updated.busy or updated.problem ~= nil)
  local keeps_results = updated.busy or (self.editing and self:is_live())
  if has_nothing_to_show and keeps_results and #self:items() > 0 then
    return self:_show_summary()
  end
  if self.search ~= updated then
    self.search = updated
    self:_reset_cursor()
    self:draw()
  else
    self:_draw_soon()
  end
  self:_open_if_wanted()
  self:_edit_if_nothing_found()
  self:_repeat_later()
end

---Repeat a live search while the index is being built: the first question often comes that early.
---@param delay? integer milliseconds; by default, longer after a slow search
function Picker:_repeat_later(delay)
  local early = self.search
  if not early or not early:is_early() or not self:is_live() then
    return
  end
  self.repeat_timer:start(
    delay or math.max(REPEAT_MS, math.floor(early.took / REPEAT_SHARE)),
    0,
    vim.schedule_wrap(function()
      self:_repeat(early)
    end)
  )
end

---@param early winnow.Search
function Picker:_repeat(early)
  if open ~= self or self.search ~= early then
    return
  end
  self.repeated = search.start(self.mode, early.request, {
    folder = self.folder,
    shows_progress = true,
    on_update = function(again)
      if open == self and self.search == early and again.answer then
        self.running, self.search = again, again
        self:draw()
        self:_repeat_later()
      end
    end,
  })
end

function Picker:_stop_repeating()
  self.repeat_timer:stop()
  if self.repeated then
    self.repeated:cancel()
    self.repeated = nil
  end
end

---Let the user correct a query that failed or found nothing.
function Picker:_edit_if_nothing_found()
  local shown = self.search
  local has_nothing = shown and not shown.busy and #shown.items == 0
  if has_nothing and not self.editing and self:typed() == '' then
    self:edit(true)
  end
end

---Open the first result if the user pressed Enter before it arrived. A ranking has no first result
---before it is complete.
function Picker:_open_if_wanted()
  local shown = self.search
  if not self.opens or not shown or shown ~= self.running or self.draw_pending then
    return
  elseif shown.busy and (shown.ranked or #self.shown == 0) then
    return
  end
  local how = self.opens
  self.opens = nil
  if #self.shown > 0 then
    self:open(how)
  end
end

-- The prompt -------------------------------------------------------------------------------

---@param line string
---@return string
local function without_prompt(line)
  return vim.startswith(line, windows.PROMPT) and line:sub(#windows.PROMPT + 1) or line
end

---@return string
function Picker:typed()
  return without_prompt(vim.api.nvim_buf_get_lines(self.windows.prompt_buf, -2, -1, false)[1] or '')
end

---@param text string
function Picker:set_typed(text)
  local line = windows.PROMPT .. (text:gsub('\n', ' '))
  vim.api.nvim_buf_set_lines(self.windows.prompt_buf, -2, -1, false, { line })
  vim.api.nvim_win_set_cursor(self.windows.prompt, {
    vim.api.nvim_buf_line_count(self.windows.prompt_buf),
    #line,
  })
  self:_show_default()
end

---Join the lines of a pasted text: the prompt has one. A search for anything recognizes a stack
---trace without its line breaks, by the indentation of its lines.
function Picker:_join_lines()
  local buf = self.windows.prompt_buf
  if vim.api.nvim_buf_line_count(buf) == 1 then
    return
  end
  local lines = vim.api.nvim_buf_get_lines(buf, 0, -1, false)
  -- Neovim writes the prompt into the last line, too.
  local pasted = vim.iter(lines):map(function(line)
    line = without_prompt(line)
    return self.mode == 'code' and line or (line:gsub('^%s+', ''))
  end)
  vim.api.nvim_buf_set_lines(buf, 0, -2, false, {})
  self:set_typed(pasted:join(' '))
end

---Show the default query in an empty prompt.
function Picker:_show_default()
  local buf = self.windows.prompt_buf
  vim.api.nvim_buf_clear_namespace(buf, DEFAULT_TEXT, 0, -1)
  if self.editing and self.default and self:typed() == '' then
    local row = vim.api.nvim_buf_line_count(buf) - 1
    -- Neovim writes the prompt when insert mode begins.
    local line = vim.api.nvim_buf_get_lines(buf, row, row + 1, false)[1]
    vim.api.nvim_buf_set_extmark(buf, DEFAULT_TEXT, row, math.min(#windows.PROMPT, #line), {
      virt_text = { { self.default, 'WinnowDefault' } },
      virt_text_pos = 'overlay',
    })
  end
end

---Parse the typed request, or the default if nothing is typed. It keeps the params of the previous
---request unless they are typed again. Raise an error for an invalid param.
---@return winnow.Request
function Picker:typed_request()
  local typed = self:typed()
  if typed == '' and self.default then
    return vim.tbl_extend('force', self.request, { query = self.default, terms = nil })
  end
  local request = query.parse(self.mode, typed)
  request.params = vim.tbl_extend('force', self.request.params or {}, request.params)
  request.files = self.request.files
  return request
end

---Return true if the prompt has a query that was not searched for.
---@return boolean
function Picker:has_new_query()
  if not self.editing or self:typed() == self.searched then
    return false
  end
  local ok, request = pcall(self.typed_request, self)
  return not ok or not vim.deep_equal(request, self.request)
end

---Return true if the picker searches as the user types.
---@return boolean
function Picker:is_live()
  local params =
    vim.tbl_extend('force', config.current.params[self.mode], self.request.params or {})
  return modes.is_live(self.mode, params)
end

---Handle typed text: filter the results, or schedule a live search.
function Picker:_changed()
  self:_join_lines()
  local typed = self:typed()
  self.notice = nil
  self:_show_default()
  if not self.editing then
    if typed ~= self.filter then
      self.filter, self.opens = typed, nil
      self:_reset_cursor()
      self:draw()
    end
    return
  end
  if not self:has_new_query() then
    return
  end
  self.opens = nil
  if self:is_live() then
    -- The first key searches at once; the following ones only so often.
    local waits = math.max(0, TYPING_MS - (vim.uv.now() - self.typed_at)) --[[@as integer]]
    self.type_timer:start(
      waits,
      0,
      vim.schedule_wrap(function()
        if open == self and self.editing then
          self:search_typed()
        end
      end)
    )
  end
end

---Search for the typed query. Show why it is invalid instead.
---@return boolean started
function Picker:search_typed()
  local ok, request = pcall(self.typed_request, self)
  self.typed_at = vim.uv.now()
  if ok then
    self:start(request)
    return true
  end
  self.type_timer:stop()
  self.problem = (tostring(request):gsub('^winnow: ', ''))
  self:_show_summary()
  return false
end

---Switch the prompt between query and filter.
---@param editing boolean
function Picker:edit(editing)
  self.editing = editing
  self.filter = ''
  self:set_typed(editing and query.format(self.request) or '')
  self.searched = editing and self:typed() or nil
  self:titles()
  self:draw()
end

-- Moving and opening -----------------------------------------------------------------------

---@param index integer
function Picker:go_to(index)
  self.has_moved, self.opens = true, nil
  if #self.shown == 0 then
    return
  end
  self.current = math.max(1, math.min(index, #self.shown))
  self:_show_current()
  self:_show_summary()
end

---Return the selected items in their order, or all items shown if none is selected.
---@return winnow.Item[]
function Picker:selected_or_all()
  local selected = vim.tbl_filter(function(item)
    return self.selected[item.key]
  end, self:items())
  return #selected > 0 and selected or self.shown
end

---Close the picker, return to the original window in normal mode, and call back.
---@param callback fun()
function Picker:leave(callback)
  place.leave_insert(function()
    self:close()
    if vim.api.nvim_win_is_valid(self.origin_win) then
      vim.api.nvim_set_current_win(self.origin_win)
    end
    callback()
  end)
end

---@alias winnow.How 'here'|'split'|'vsplit'|'tab'

---Open the current item.
---@param how winnow.How
function Picker:open(how)
  local shown, item = self.search, self:item()
  if not shown or not item then
    return
  elseif self.choose then
    return self:leave(function()
      self.choose(item)
    end)
  end
  shown:opened(item)
  history.add(self.mode, shown.request, self.folder)
  self:leave(function()
    place.open(item, how ~= 'here' and how or nil)
  end)
end

-- Opening and closing ----------------------------------------------------------------------

function Picker:_map_keys()
  local buf = self.windows.prompt_buf
  for name, action in pairs(actions) do
    for _, key in ipairs(config.current.keys[name] or {}) do
      vim.keymap.set({ 'i', 'n' }, key, function()
        self.notice = nil
        -- Neovim reports changes only after all typed keys.
        self:_changed()
        action(self, key)
      end, { buffer = buf, nowait = true, desc = 'Winnow: ' .. name })
    end
  end
  -- In a prompt, <C-w> begins a window command.
  vim.keymap.set('i', '<C-w>', '<C-S-w>', { buffer = buf })
  require('winnow.picker.mouse').map(self)
end

---@param events string|string[]
---@param callback fun(event: table)
---@param buf? integer
function Picker:_on(events, callback, buf)
  vim.api.nvim_create_autocmd(events, { group = self.group, buffer = buf, callback = callback })
end

---Handle another current window: return to the prompt from the list and the preview, whose keys are
---not mapped, and close the picker in any other window.
function Picker:_on_window()
  local win = vim.api.nvim_get_current_win()
  if open ~= self or win == self.windows.prompt then
    return
  elseif self.windows:has(win) then
    return vim.api.nvim_set_current_win(self.windows.prompt)
  end
  self:close()
  -- The prompt's insert mode must not go on in a file, but another plugin's prompt wants it.
  local is_float = vim.api.nvim_win_get_config(win).relative ~= ''
  if not is_float and vim.bo.buftype ~= 'prompt' then
    vim.cmd.stopinsert()
  end
end

function Picker:_create_autocmds()
  self.group = vim.api.nvim_create_augroup('winnow-picker', {})
  local prompt_buf = self.windows.prompt_buf
  self:_on({ 'TextChanged', 'TextChangedI' }, function()
    self:_changed()
  end, prompt_buf)
  -- Vim asks whether to save a prompt with text.
  self:_on('QuitPre', function()
    vim.bo[prompt_buf].modified = false
  end, prompt_buf)
  self:_on('VimResized', function()
    self.windows:resize()
    self:titles()
    self:draw()
    self.preview:refresh()
  end)
  -- Neovim tells of a scrolled window before it draws it.
  self:_on('WinScrolled', function()
    if self.windows:is_open() then
      self:_show_rows()
    end
  end)
  self:_on('WinClosed', function(event)
    if
      self.windows:has(tonumber(event.match) --[[@as integer]])
    then
      vim.schedule(function()
        if open == self and not self.windows:is_open() then
          self:leave(function() end)
        end
      end)
    end
  end)
  -- Some plugins open their windows without autocommands, but then start a terminal.
  self:_on(
    { 'WinEnter', 'TermEnter' },
    vim.schedule_wrap(function()
      self:_on_window()
    end)
  )
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
  if not self.choose then
    last = {
      mode = self.mode,
      request = self.request,
      search = self.search,
      filter = self.filter,
      editing = self.editing,
      default = self.default,
      selected = self.selected,
      current = self.current,
      topline = vim.fn.line('w0', self.windows.list),
    }
  end
  vim.api.nvim_del_augroup_by_id(self.group)
  self:_stop_repeating()
  self.repeat_timer:close()
  self.draw_timer:close()
  self.type_timer:close()
  self.preview:close()
  rows.close(self.windows.list_buf)
  self.windows:close()
end

---@param mode winnow.Mode
---@param request winnow.Request
---@param has_preview boolean
---@return winnow.Picker
local function new(mode, request, has_preview)
  if open then
    open:close()
  end
  local self = setmetatable({
    mode = mode,
    request = request,
    folder = client.root(vim.api.nvim_get_current_buf()),
    shown = {},
    current = 1,
    filter = '',
    editing = false,
    selected = {},
    has_moved = false,
    per_item = 1,
    drawn_at = 0,
    draw_pending = false,
    origin_win = vim.api.nvim_get_current_win(),
    draw_timer = assert(vim.uv.new_timer()),
    type_timer = assert(vim.uv.new_timer()),
    repeat_timer = assert(vim.uv.new_timer()),
    typed_at = 0,
  }, Picker)
  self.windows = windows.open(has_preview)
  self.preview = require('winnow.picker.preview').new(self.windows, self.folder)
  vim.b[self.windows.prompt_buf].completion = false
  self:_map_keys()
  self:_create_autocmds()
  open = self
  vim.cmd.startinsert({ bang = true })
  return self
end

---Return the word under the cursor, unless it is only punctuation.
---@return string?
local function word_under_cursor()
  local word = vim.fn.expand('<cword>') --[[@as string]]
  return word:find('[%w\128-\255]') and word or nil
end

---Open the picker with the results of the query, or with a prompt for one. The word under the
---cursor is the query while the prompt is empty.
---@param mode winnow.Mode
---@param request winnow.Request
---@return winnow.Picker
function M.open(mode, request)
  modes.get(mode)
  local has_query = vim.trim(request.query or '') ~= ''
  local default = not has_query and word_under_cursor() or nil
  local self = new(mode, request, config.current.preview)
  self.editing, self.default = not has_query, default
  self:set_typed('')
  if has_query then
    history.add(mode, request, self.folder)
  else
    -- Start the server while the user types. The search reports problems.
    client.with_client(self.folder, function() end)
  end
  if default and self:is_live() then
    request = self:typed_request()
  end
  self:start(request)
  return self
end

---Let the user choose one of the items.
---@param title string
---@param items winnow.Item[]
---@param choose fun(item: winnow.Item)
---@return winnow.Picker
function M.choose(title, items, choose)
  local self = new('code', { query = '' }, false)
  self.title, self.choose = title, choose
  self.search = search.finished(items)
  self:titles()
  self:draw()
  return self
end

---After consent for a folder, let `resume` repeat a search there that no model has ranked.
---@param folder string
function M.on_consent(folder)
  local state = last
  ---@type winnow.Search?
  local previous = state and state.search
  if state and previous and previous.ranked and previous.folder == folder then
    state.search_again = not (previous.ranked_by and previous.ranked_by.kind == 'llm')
  end
end

---Reopen the last picker with its results, filter, selection and cursor. A canceled search shows
---the results so far. If the user has consented to a model since, search again.
---@return winnow.Picker?
function M.resume()
  if not last then
    require('winnow.message').warn('nothing to resume')
    return nil
  end
  local state = last
  local self = new(state.mode, state.request, config.current.preview)
  for _, name in ipairs({ 'search', 'filter', 'editing', 'default', 'selected', 'current' }) do
    self[name] = state[name]
  end
  self.has_moved = true
  self:titles()
  local typed = self.editing and query.format(self.request) or self.filter
  self:set_typed(self.editing and typed == self.default and '' or typed)
  self.shown = rows.filtered(self:items(), self.filter)
  self:draw()
  vim.api.nvim_win_call(self.windows.list, function()
    vim.fn.winrestview({ topline = state.topline })
  end)
  self:_show_rows()
  -- The index may have been completed since.
  self:_repeat_later(0)
  if state.search_again and state.search.folder == self.folder then
    self:start(self.request)
  end
  return self
end

---Return the open picker, if any.
---@return winnow.Picker?
function M.get()
  return open
end

M.actions = vim.tbl_keys(actions)

return M
