-- read_record(id): the record of a task as a table by name, and how many bytes its values have; nil if there is none.
local function read_record(id)
  local flat, record, bytes = redis.call('HGETALL', task .. id), {}, 0  -- at most 70: fields of a record
  if #flat == 0 then return nil, 0 end
  for f = 1, #flat, 2 do
    record[flat[f]] = flat[f + 1]
    bytes = bytes + #flat[f + 1]
  end
  return record, bytes
end
