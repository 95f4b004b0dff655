-- avoid_taken(ctx, ids): give each task of this call another id if there is a task of its id: that one was enqueued before the step, so
-- it is another task. Nobody can know the new id before, because only the caller knows the rid.
-- USES queue
local function avoid_taken(ctx, ids)
  for i, id in ipairs(ids) do  -- at most 400: two for each item, and for ten others
    if redis.call('HEXISTS', queue.task .. id, 'created_ms') == 1 then
      ids[i] = id .. '/' .. string.sub(redis.sha1hex(rid .. ' ' .. id), 1, 20)
      note_taken(ctx, ctx.follows[i].id, id, ids[i])
    end
  end
end
