-- Runs tests for run.lua, which tells it what is next: one call for each test, and one more for
-- what came of it, after another turn of the main loop.

local M = {}

local here = vim.fs.dirname(vim.fs.normalize(debug.getinfo(1, 'S').source:sub(2)))
local t = require('support')

local number, seed
---@type table<string, fun()>
local tests
local outcome
-- The mode in which Neovim has waited for Enter, during a test.
local waited

---@param what string
---@param value any
local function tell(what, value)
  local channel = vim.iter(vim.api.nvim_list_uis()):next().chan
  vim.rpcnotify(channel, 'nvim_exec_lua', 'winnow_heard(...)', { number, what, value })
end

---Go on where Neovim waits for Enter: it would do so for ever. The test has failed.
local function watch_for_prompts()
  local timer = assert(vim.uv.new_timer())
  timer:start(100, 100, function()
    local mode = vim.api.nvim_get_mode()
    if mode.blocking and vim.startswith(mode.mode, 'r') then
      waited = mode.mode
      vim.api.nvim_input('<CR>')
    end
  end)
end

function M.begin(own_number, own_seed)
  number, seed = own_number, own_seed
  vim.opt.runtimepath:prepend(vim.fs.dirname(here))
  vim.opt.swapfile = false
  watch_for_prompts()
end

---Take a spec file; its tests, in this run's order.
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
  for at = #names, 2, -1 do
    local other = math.random(at)
    names[at], names[other] = names[other], names[at]
  end
  tell('loaded', names)
end

---@param name string
function M.run(name)
  local began = vim.uv.hrtime()
  waited = nil
  local ok, problem = xpcall(tests[name], function(err)
    local is_skipped = type(err) == 'table'
    return is_skipped and err or debug.traceback(tostring(err), 2) .. '\n' .. t.screen_text()
  end)
  local cleaned, left = pcall(t.clean_up)
  if ok and not cleaned then
    ok, problem = false, left
  end
  local ms = (vim.uv.hrtime() - began) / 1e6
  if ok then
    outcome = { name = name, outcome = 'ok', more = (' (%d ms)'):format(ms) }
  elseif type(problem) == 'table' and problem.skipped then
    outcome = { name = name, outcome = 'skipped', more = ': ' .. problem.skipped }
  else
    outcome = { name = name, outcome = 'FAILED', more = '\n' .. tostring(problem) }
  end
  tell('ran')
end

function M.report()
  if waited and outcome.outcome == 'ok' then
    outcome.outcome = 'FAILED'
    outcome.more = ('\nNeovim waited for a key (mode %s) after:\n%s'):format(
      waited,
      vim.fn.execute('messages')
    )
  end
  tell('reported', outcome)
end

---End the servers, and say what is still there.
function M.quit()
  local left = {}
  for _, pid in ipairs(t.stop_servers()) do
    left[#left + 1] = (vim.api.nvim_get_proc(pid) or {}).name or ('process ' .. pid)
    vim.uv.kill(pid, 'sigkill')
  end
  tell('quit', left)
end

return M
