-- record_of(ctx, rid): the record of a request, with the changes of this call; false if there is none.
local function record_of(ctx, rid)
  if ctx.texts[rid] == nil then ctx.texts[rid] = redis.call('HGET', requests, rid) end
  return ctx.texts[rid]
end
