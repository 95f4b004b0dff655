-- note_taken_id(ctx, id, seed): somebody has taken the id of a schedule's task for another one. People should look.
local function note_taken_id(ctx, id, seed)
  redis.call('HSET', schedule .. name, 'seed', seed)
  emit(ctx, 'task.alert', id, 'reason=schedule_id_taken')
end
