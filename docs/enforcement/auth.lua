-- Asks Quartermaster whether a request may pass, for haproxy.cfg beside this file. The argument of the action is the URL to ask.
-- A request passes only if this sets txn.quartermaster_allowed.

local SENT = { "authorization", "x-quartermaster-session", "mcp-protocol-version", "mcp-method", "mcp-name" }
local ANSWERED = { "content-type", "retry-after", "www-authenticate", "x-quartermaster-mode", "x-quartermaster-reason" }
local REFUSALS = { [401] = true, [403] = true, [429] = true, [503] = true }

-- HAProxy counts the values of a header from 0, Lua from 1. A header that was sent twice stays twice, so that Quartermaster refuses it.
local function values(header)
  local list, i = {}, 0
  while header[i] do
    list[#list + 1] = header[i]
    i = i + 1
  end
  return list
end

core.register_action("quartermaster", { "http-req" }, function(txn, url)
  local received = txn.http:req_get_headers()
  local headers = { ["x-original-method"] = { txn.f:method() }, ["x-original-uri"] = { txn.f:pathq() } }
  for _, name in ipairs(SENT) do
    if received[name] then headers[name] = values(received[name]) end
  end
  local answer = core.httpclient():get { url = url, headers = headers, timeout = 5000 }
  if answer and answer.status == 200 then
    txn:set_var("txn.quartermaster_subject", answer.headers["x-quartermaster-subject"][0])
    txn:set_var("txn.quartermaster_allowed", true)
    return
  end
  local status = answer and answer.status or 503
  local reply = txn:reply { status = REFUSALS[status] and status or 503, body = answer and answer.body or "" }
  for _, name in ipairs(ANSWERED) do
    if answer and answer.headers and answer.headers[name] then reply:add_header(name, answer.headers[name][0]) end
  end
  txn:done(reply)
end, 1)
