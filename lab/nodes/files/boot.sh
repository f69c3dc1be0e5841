#!/bin/bash
# boot.sh IMAGE BASE DISK HOSTNAME: become the first process of a machine.
#
# It is started in the machine's own namespaces and cgroups. IMAGE and BASE
# are folders that the machine may not change; DISK is its own:
#   root, work, system      the overlay: changes, scratch folder, mount point
#   containerd, kubelet, etcd   they need a file system that is no overlay
#   seed                    the configuration drive
set -e
image=$1 base=$2 disk=$3
hostname "$4"
root=$disk/system
mount -t overlay overlay \
    -o "lowerdir=$image:$base,upperdir=$disk/root,workdir=$disk/work" "$root"
for name in containerd kubelet etcd; do
    mkdir -p "$root/var/lib/$name"
    mount --bind "$disk/$name" "$root/var/lib/$name"
done
mkdir -p "$root/var/lib/cloud/seed/config_drive"
mount --bind "$disk/seed" "$root/var/lib/cloud/seed/config_drive"

mount -t proc proc "$root/proc"
# With a writable one systemd would start udev, which has no devices here.
mount -t sysfs -o ro sysfs "$root/sys"
mount -t tmpfs -o mode=755 tmpfs "$root/dev"
for name in null zero full random urandom tty; do
    touch "$root/dev/$name"
    mount --bind "/dev/$name" "$root/dev/$name"
done
mkdir "$root/dev/pts" "$root/dev/shm"
mount -t devpts -o newinstance,ptmxmode=0666,mode=620 devpts "$root/dev/pts"
mount -t tmpfs tmpfs "$root/dev/shm"
# kubelet watches the kernel's log for processes that were killed.
ln -s null "$root/dev/kmsg"
ln -s pts/ptmx "$root/dev/ptmx"
ln -s /proc/self/fd "$root/dev/fd"
ln -s fd/0 "$root/dev/stdin"
ln -s fd/1 "$root/dev/stdout"
ln -s fd/2 "$root/dev/stderr"
mount -t tmpfs -o mode=755 tmpfs "$root/run"
mkdir "$root/run/lock"

mount -t tmpfs -o mode=755 tmpfs "$root/sys/fs/cgroup"
while read -r name _ _ enabled; do
    [ "$enabled" = 1 ] && [ -d "/sys/fs/cgroup/$name" ] || continue
    mkdir "$root/sys/fs/cgroup/$name"
    mount -t cgroup -o "$name" cgroup "$root/sys/fs/cgroup/$name"
done </proc/cgroups
mkdir "$root/sys/fs/cgroup/systemd" "$root/sys/fs/cgroup/unified"
mount -t cgroup -o none,name=systemd cgroup "$root/sys/fs/cgroup/systemd"
mount -t cgroup2 cgroup2 "$root/sys/fs/cgroup/unified"

cd "$root"
mkdir -p .host
pivot_root . .host
cd /
umount -l /.host
rmdir /.host
# Volumes of pods appear in containers.
mount --make-rshared /
exec env -i container=lab PATH=/usr/sbin:/usr/bin:/sbin:/bin TERM=linux \
    /lib/systemd/systemd --log-target=journal
