-- Fills in the stakes of a pool, as the database added them up.
--
-- KEYS: the stakes. ARGV: number of the last prediction among them, seconds until they are added up
-- again, stakes in order of the outcomes. Whoever was quicker has counted what came since.
if redis.call('EXISTS', KEYS[1]) == 1 then
  return 0
end
redis.call('HSET', KEYS[1], 'through', ARGV[1], 'outcomes', #ARGV - 2)
for n = 3, #ARGV do
  redis.call('HSET', KEYS[1], tostring(n - 3), ARGV[n])
end
redis.call('EXPIRE', KEYS[1], ARGV[2])
return 1
