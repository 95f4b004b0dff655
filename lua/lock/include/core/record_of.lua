-- record_of(ctx, rid): the record of a request as this call has left it; false if there is none.
local function record_of(ctx, rid)
  if ctx.texts[rid] == nil then ctx.texts[rid] = redis.call('HGET', requests, rid) end
  return ctx.texts[rid]
end
