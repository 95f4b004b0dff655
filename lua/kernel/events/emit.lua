-- emit(ctx, event, id, detail): add an entry to the stream, if the noun keeps events. detail: `name=value` words, or
-- ''. The trace is ctx.trace, that of the task, or else that of the call.
local function emit(ctx, event, id, detail)
  if ctx.settings.events_max == 0 then return end
  local source = ctx.restricted and '' or source  -- of the call: it is also that of a new task, and its tier may hide it
  if detail ~= '' and source == '' and trace == '' and not ctx.trace then
    redis.call('XADD', events, 'MAXLEN', '~', ctx.settings.events_max, '*', 'event', event, 'timestamp', ctx.now_text, 'id', id,
      'payload', detail)
    return
  end
  local entry = { 'event', event, 'timestamp', ctx.now_text, 'id', id }
  if detail ~= '' then entry[7], entry[8] = 'payload', detail end
  if source ~= '' then entry[#entry + 1] = 'source'; entry[#entry + 1] = source end
  local traced = ctx.trace or trace
  if traced ~= '' then entry[#entry + 1] = 'trace'; entry[#entry + 1] = traced end
  redis.call('XADD', events, 'MAXLEN', '~', ctx.settings.events_max, '*', unpack(entry))  -- at most 12: fields of an event
end
