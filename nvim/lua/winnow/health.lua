-- `:checkhealth winnow` reports problems and how to fix them.

local M = {}

local health = vim.health

-- `winnow doctor` runs other programs to get their versions.
local DOCTOR_MS = 20000

---@return boolean
local function check_neovim()
  health.start('winnow: Neovim')
  if vim.fn.has('nvim-0.11') == 0 then
    health.error('Neovim 0.11 or newer is required', { 'Install a newer Neovim' })
    return false
  end
  -- The module is callable, but its annotations lack that.
  local version = vim.version --[[@as fun(): vim.Version]]
  health.ok(('Neovim %s, winnow.nvim %s'):format(tostring(version()), require('winnow.version')))
  return true
end

---@class winnow.Finding
---@field subject string
---@field good boolean
---@field detail string
---@field advice string
---@field required boolean true if nothing works without it

---Report a finding. What is missing and optional is no problem.
---@param finding winnow.Finding
local function report(finding)
  local message = ('%s: %s'):format(finding.subject, finding.detail)
  local advice = finding.advice ~= '' and { finding.advice } or {}
  if finding.good then
    health.ok(message)
    vim.iter(advice):each(health.info)
  elseif finding.required then
    health.error(message, unpack(advice))
  else
    health.info(('optional, %s'):format(table.concat({ message, unpack(advice) }, '. ')))
  end
end

---Report the findings of `winnow doctor`.
---@param cmd? string[]|function
local function check_server(cmd)
  health.start('winnow: the server')
  local problem = require('winnow.client').start_problem(cmd)
  if problem then
    health.error(problem, {
      'Install the server: pip install winnow-ls',
      "Or set its command: vim.lsp.config('winnow', { cmd = { '/path/to/winnow', 'serve' } })",
    })
    return
  end
  if type(cmd) ~= 'table' or cmd[#cmd] ~= 'serve' then
    health.info('The command is not `… serve`, so `winnow doctor` was not run')
    return
  end
  local doctor = vim.list_extend(vim.list_slice(cmd, 1, #cmd - 1), { 'doctor', '--json' })
  local run = vim.system(doctor, { timeout = DOCTOR_MS }):wait()
  local ok, findings = pcall(vim.json.decode, run.stdout or '')
  if not ok or type(findings) ~= 'table' then
    health.error(('`%s` exited with code %d'):format(table.concat(doctor, ' '), run.code), {
      'Output: ' .. vim.trim(run.stderr or ''),
      'Run it in a terminal; the server may be only partly installed',
    })
    return
  end
  -- Begin with what works.
  for _, is_good in ipairs({ true, false }) do
    for _, finding in ipairs(findings) do
      if finding.good == is_good then
        report(finding)
      end
    end
  end
end

---Return the answer of this project's running server. If there is none, report why and return nil.
---@param method string
---@return table?
local function answer_to(method)
  local client = require('winnow.client')
  local folder = client.root(0)
  local running = client.running(folder)
  if not running then
    health.info(('no server is running for %s; the first search starts one'):format(folder))
    return nil
  end
  local response = running:request_sync(method, vim.empty_dict(), 5000, 0)
  local problem = response and response.err
  if not response or problem then
    local reason = problem and problem.message or 'no answer within 5 s'
    health.error('the server did not answer: ' .. reason, { 'See :Winnow log' })
    return nil
  end
  return response.result
end

---Report the consent to remote models. Models on this machine need none.
local function check_consent()
  health.start('winnow: sending code of this project to remote models')
  local answer = answer_to('$/consent') --[[@as winnow.Consent?]]
  if not answer then
    return
  end
  for _, destination in ipairs(answer.destinations) do
    local is_allowed = destination.state == 'given' or destination.state == 'always'
    local state = require('winnow.egress').state(destination)
    if is_allowed then
      health.ok(state)
    else
      health.info(state .. '; `:Winnow consent` allows it')
    end
  end
  vim.iter(answer.warnings):each(health.info)
end

local function check_index()
  health.start('winnow: the index of this project')
  local answer = answer_to('$/indexStatus')
  if not answer then
    return
  end
  for _, folder in ipairs(answer.index.folders) do
    local message = ('%s: %s, %d of %d files'):format(
      folder.folder,
      folder.state,
      folder.files_indexed,
      folder.files_total
    )
    local problem = folder.problem and ': ' .. folder.problem or ''
    if folder.state == 'ready' then
      health.ok(message)
    elseif folder.state == 'none' then
      health.info(message .. problem .. '; `:Winnow index build` builds it')
    else
      health.info(message)
    end
  end
end

local function check_pickers()
  health.start('winnow: other pickers')
  local installed = require('winnow.adapters').installed()
  for _, name in ipairs({ 'telescope', 'fzf_lua', 'snacks' }) do
    local is_configured = require('winnow.config').current.picker == name
    if installed[name] then
      health.ok(name .. ' is installed' .. (is_configured and ' and in use' or ''))
    elseif is_configured then
      health.error(name .. ' is set as the picker but not installed', {
        "Install it, or set { picker = 'builtin' }",
      })
    else
      health.info(name .. ' is not installed; the built-in picker needs no plugin')
    end
  end
  if require('winnow.config').current.complete then
    health.ok('`complete` is set: your own model can rank')
  end
end

function M.check()
  if check_neovim() then
    check_server(vim.lsp.config.winnow.cmd)
    check_consent()
    check_index()
    check_pickers()
  end
end

return M
