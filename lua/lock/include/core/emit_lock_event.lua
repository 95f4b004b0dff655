-- emit_lock_event(ctx, event, rid, request, detail): emit one event, and hints for the listeners of its resources. If
-- the request no longer waits, its own listener gets one too. detail: further words, each with a space before it, or
-- ''.
local function emit_lock_event(ctx, event, rid, request, detail)
  local agent, hints = request.agent, ctx.hints or {}
  emit(ctx, event, rid, 'owner=' .. request.owner .. ' agent=' .. agent .. ' locks=' .. parts_text(request) .. detail)
  ctx.hints = hints
  local word = string.sub(event, 6) .. ':' .. agent
  local function hint(whom) hints[whom] = hints[whom] and hints[whom] .. ' ' .. word or word end
  for _, part in ipairs(request.parts) do hint(part.resource) end
  if event == 'lock.promoted' or event == 'lock.cancelled' or event == 'lock.deadlock' then hint(rid) end
end
