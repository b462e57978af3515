-- Run tests for run.lua, which calls `run` for each test, and then `report` for its result, in
-- another iteration of the main loop.

local M = {}

local here = vim.fs.dirname(vim.fs.normalize(debug.getinfo(1, 'S').source:sub(2)))
local t = require('support')

local number, seed
---@type table<string, fun()>
local tests
local outcome
-- The mode in which Neovim waited for Enter during a test.
local blocked_mode

---@param event string
---@param value any
local function notify(event, value)
  local channel = vim.iter(vim.api.nvim_list_uis()):next().chan
  vim.rpcnotify(channel, 'nvim_exec_lua', 'winnow_on_message(...)', { number, event, value })
end

---Press Enter when Neovim waits for it, because it would wait forever. The test fails.
local function watch_for_prompts()
  local timer = assert(vim.uv.new_timer())
  timer:start(100, 100, function()
    local mode = vim.api.nvim_get_mode()
    if mode.blocking and vim.startswith(mode.mode, 'r') then
      blocked_mode = mode.mode
      vim.api.nvim_input('<CR>')
    end
  end)
end

function M.begin(worker_number, random_seed)
  number, seed = worker_number, random_seed
  vim.opt.runtimepath:prepend(vim.fs.dirname(here))
  vim.opt.swapfile = false
  watch_for_prompts()
end

---Load a spec file and send the names of its tests in random order.
---@param file string
function M.load(file)
  local spec = vim.fs.basename(file):gsub('_spec%.lua$', '')
  local names = {}
  tests = {}
  for _, test in ipairs(dofile(file)) do
    local name = ('%s: %s'):format(spec, test[1])
    names[#names + 1] = name
    tests[name] = test[2]
  end
  math.randomseed(seed)
  for index = #names, 2, -1 do
    local other = math.random(index)
    names[index], names[other] = names[other], names[index]
  end
  notify('loaded', names)
end

---@param name string
function M.run(name)
  local started_at = vim.uv.hrtime()
  blocked_mode = nil
  local ok, problem = xpcall(tests[name], function(err)
    local is_skipped = type(err) == 'table'
    return is_skipped and err or debug.traceback(tostring(err), 2) .. '\n' .. t.screen_text()
  end)
  local cleaned_up, clean_up_problem = pcall(t.clean_up)
  if ok and not cleaned_up then
    ok, problem = false, clean_up_problem
  end
  local ms = (vim.uv.hrtime() - started_at) / 1e6
  if ok then
    outcome = { name = name, outcome = 'ok', details = (' (%d ms)'):format(ms) }
  elseif type(problem) == 'table' and problem.skipped then
    outcome = { name = name, outcome = 'skipped', details = ': ' .. problem.skipped }
  else
    outcome = { name = name, outcome = 'FAILED', details = '\n' .. tostring(problem) }
  end
  notify('ran')
end

function M.report()
  if blocked_mode and outcome.outcome == 'ok' then
    outcome.outcome = 'FAILED'
    outcome.details = ('\nNeovim waited for a key (mode %s) after:\n%s'):format(
      blocked_mode,
      vim.fn.execute('messages')
    )
  end
  notify('reported', outcome)
end

---Stop the servers and send the names of the processes left behind.
function M.quit()
  local names = {}
  for _, pid in ipairs(t.stop_servers()) do
    names[#names + 1] = (vim.api.nvim_get_proc(pid) or {}).name or ('process ' .. pid)
    vim.uv.kill(pid, 'sigkill')
  end
  notify('quit', names)
end

return M
