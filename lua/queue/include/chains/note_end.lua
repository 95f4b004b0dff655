-- note_end(ctx, how, id, parent, stamp): note what propagate_ends has to do for a task. `c` and `f`: tell its end to the parent, which
-- is '<id> <its place>', that gathers it, and to those that wait for it and have come by now; who comes later waits for another
-- task of that id. `o`: tell it to the next one of its ordering key, in place of a parent. `t`: cancel its children, under a stamp.
local function note_end(ctx, how, id, parent, stamp)
  ctx.last_place = ctx.last_place or redis.call('HGET', config, 'place') or 0
  redis.call('ZADD', ends, ctx.now_text,
    how .. ' ' .. id .. ' ' .. (parent or '- 0') .. ' ' .. (stamp or ctx.last_place))
  ctx.noted = true
end
