-- note_end(ctx, how, id, parent, stamp, parent_only): note what propagate_ends has to do for a task. `c`, `f`: report
-- that it completed or failed to its gathering parent, '<id> <its place>', and to the tasks that wait for it by now.
-- Later tasks wait for another task with that id. `o`: report it to the next task of its ordering key, in place of a
-- parent. `t`: cancel its children, under a stamp. The caller ends with on_close or store_notes.
local function note_end(ctx, how, id, parent, stamp, parent_only)
  ctx.last_place = ctx.last_place or redis.call('HGET', config, 'place') or 0
  keep_note(ctx, how .. ' ' .. id .. ' ' .. (parent or '- 0') .. ' ' .. (stamp or ctx.last_place), parent_only)
end
